//! AES-192-CBC and HMAC-SHA256 around packed values, as salt/crypt.py Crypticle:
//! `iv[16] ‖ AES-192-CBC(pickle:: ‖ body ‖ padding) ‖ HMAC-SHA256(all before it)[32]`.
#![forbid(unsafe_code)]

use aes::{Aes192Dec, Aes192Enc, Block};
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit};
use cbc::{Decryptor, Encryptor};
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// 24 bytes of AES-192, then 32 of HMAC-SHA256.
pub const KEY: usize = 56;
const AES_KEY: usize = 24;
const BLOCK: usize = 16;
const MAC: usize = 32;
/// Salt's PICKLE_PAD; what does not begin with it opens to nothing.
const PREFIX: &[u8] = b"pickle::";

/// Why a blob does not open, or a body is not sealed.
#[derive(Debug, PartialEq)]
pub enum Fault {
    /// Another key sealed the blob, or it was altered, or it is too short.
    Mac,
    /// A holder of the key sealed no whole blocks.
    Length,
    /// The prefix is missing: Salt's receivers then see an empty map.
    Prefix,
    /// The place that was given is too small.
    Room,
}

/// An expanded key; its schedules are cleared when it is dropped.
pub struct Key {
    encrypt: Aes192Enc,
    decrypt: Aes192Dec,
    /// After the inner and the outer pad: a clone of it saves two blocks of SHA-256 per message.
    mac: Hmac<Sha256>,
}

impl Key {
    /// Of the 56 bytes that a key string has in base64; nothing for another number of bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != KEY {
            return None;
        }
        let (aes, mac) = bytes.split_at(AES_KEY);
        Some(Self {
            encrypt: Aes192Enc::new_from_slice(aes).ok()?,
            decrypt: Aes192Dec::new_from_slice(aes).ok()?,
            mac: Hmac::new_from_slice(mac).ok()?,
        })
    }

    /// Decrypts a blob to the beginning of `into`, which must have room for all its blocks.
    /// The body then lies behind the 8 bytes of the prefix. Gives its length.
    pub fn open(&self, blob: &[u8], into: &mut [u8]) -> Result<usize, Fault> {
        if blob.len() < BLOCK + MAC {
            return Err(Fault::Mac);
        }
        let (signed, mac) = blob.split_at(blob.len() - MAC);
        // Nothing is decrypted before this; it compares in constant time.
        let said = self.mac.clone().chain_update(signed);
        said.verify_slice(mac).map_err(|_| Fault::Mac)?;
        let (iv, sealed) = signed.split_at(BLOCK);
        if sealed.is_empty() || sealed.len() % BLOCK != 0 {
            return Err(Fault::Length);
        }
        let plain = into.get_mut(..sealed.len()).ok_or(Fault::Room)?;
        let (iv, _) = Block::slice_as_chunks(iv);
        let (from, _) = Block::slice_as_chunks(sealed);
        let (to, _) = Block::slice_as_chunks_mut(plain);
        Decryptor::inner_iv_init(&self.decrypt, &iv[0])
            .decrypt_blocks_b2b(from, to)
            .map_err(|_| Fault::Room)?;
        body_length(plain).ok_or(Fault::Prefix)
    }

    /// Seals in place. `place` begins with the IV (16 bytes), has 8 bytes of room for the prefix,
    /// then the body, then room to the end of the blob. Gives the length of the blob.
    pub fn seal(&self, place: &mut [u8], body: usize) -> Result<usize, Fault> {
        let length = sealed_length(body).ok_or(Fault::Room)?;
        let blob = place.get_mut(..length).ok_or(Fault::Room)?;
        let (signed, mac) = blob.split_at_mut(length - MAC);
        let (iv, plain) = signed.split_at_mut(BLOCK);
        let end = PREFIX.len() + body;
        plain[..PREFIX.len()].copy_from_slice(PREFIX);
        // PKCS #7: from 1 to 16 bytes, each of which is their number.
        let padding = (plain.len() - end) as u8;
        plain[end..].fill(padding);
        let (iv, _) = Block::slice_as_chunks(iv);
        let (blocks, _) = Block::slice_as_chunks_mut(plain);
        Encryptor::inner_iv_init(&self.encrypt, &iv[0]).encrypt_blocks(blocks);
        let said = self.mac.clone().chain_update(&*signed).finalize();
        mac.copy_from_slice(&said.into_bytes());
        Ok(length)
    }
}

/// The bytes of a sealed body; nothing where that is no number.
fn sealed_length(body: usize) -> Option<usize> {
    let padded = (body.checked_add(PREFIX.len())? / BLOCK).checked_add(1)?.checked_mul(BLOCK)?;
    padded.checked_add(BLOCK + MAC)
}

/// The length of the body between prefix and padding; nothing where there is no prefix.
/// Strips as Python's `data[:-pad]`: nothing remains for a pad of 0 or beyond the length.
fn body_length(plain: &[u8]) -> Option<usize> {
    let pad = usize::from(*plain.last()?);
    let end = if pad == 0 { 0 } else { plain.len().saturating_sub(pad) };
    let body = end.checked_sub(PREFIX.len())?;
    plain.starts_with(PREFIX).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::new(&core::array::from_fn::<u8, KEY, _>(|at| at as u8)).unwrap()
    }

    fn sealed(body: &[u8]) -> Vec<u8> {
        let mut place = vec![0xaa; BLOCK + PREFIX.len()];
        place.extend_from_slice(body);
        place.resize(sealed_length(body.len()).unwrap(), 0);
        assert_eq!(key().seal(&mut place, body.len()), Ok(place.len()));
        place
    }

    #[test]
    fn opens_what_it_sealed() {
        for length in 0..200 {
            let body = vec![length as u8; length];
            let blob = sealed(&body);
            let mut into = vec![0; blob.len()];
            assert_eq!(key().open(&blob, &mut into), Ok(length));
            assert_eq!(&into[PREFIX.len()..][..length], body);
        }
    }

    #[test]
    fn refuses_what_was_altered_and_decrypts_nothing() {
        let blob = sealed(b"body");
        let mut into = [0x55; 64];
        for at in 0..blob.len() {
            let mut other = blob.clone();
            other[at] ^= 1;
            assert_eq!(key().open(&other, &mut into), Err(Fault::Mac));
            assert_eq!(key().open(&blob[..at], &mut into), Err(Fault::Mac));
        }
        assert_eq!(into, [0x55; 64]);
    }

    #[test]
    fn names_what_is_too_small() {
        assert!(Key::new(&[0; KEY - 1]).is_none());
        let blob = sealed(&[7; 40]);
        assert_eq!(key().open(&blob, &mut [0; 63]), Err(Fault::Room));
        assert_eq!(key().seal(&mut [0; 111], 40), Err(Fault::Room));
        assert_eq!(key().seal(&mut [0; 111], usize::MAX), Err(Fault::Room));
    }

    /// The MAC has no such mark of its own: it holds two states of SHA-256.
    #[test]
    fn clears_keys() {
        fn cleared<T: cbc::cipher::zeroize::ZeroizeOnDrop>() {}
        cleared::<Aes192Enc>();
        cleared::<Aes192Dec>();
        cleared::<Sha256>();
    }
}
