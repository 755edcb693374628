//! What JavaScript calls (src/native-seal.ts has the types):
//!
//! - `newKey(bytes)`: a handle to an expanded key, which is dropped with the handle
//! - `open(key, from, start, end, into, at)`: the length of the body, which lies 8 bytes behind
//!   `at`, or a negative number (`Fault`)
//! - `seal(key, into, at, length)`: the length of the blob at `at`; the IV lies there already, and
//!   the body of `length` bytes 24 bytes behind
//!
//! Neither makes an object. Wrong arguments and panics are thrown as errors.
//!
//! All `unsafe` of the library is here and in `node_api`, for these reasons:
//!
//! - Node-API is C. Node gives `env` and `info`, and they are used only within its call.
//! - Bytes of a Uint8Array stay where they are, and change in no other way, while JavaScript waits
//!   for the call. That does not hold for a SharedArrayBuffer: Brine's threads share no such bytes.
//! - Two ranges that are used together do not overlap: that is checked.
//! - A handle is what `newKey` gave: `NativeSeal` keeps it private.

use crate::crypticle::{Fault, Key};
use crate::node_api::*;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};

/// Raised with each change of what the functions take or give; src/native-seal.ts asks for it.
const INTERFACE: i64 = 1;

type Outcome<T> = Result<T, &'static CStr>;

const NOT_TAKEN: &CStr = c"crypticle: an argument is missing or of another kind";
const OUT_OF_RANGE: &CStr = c"crypticle: a range is outside of its array, or too small";
const OVERLAP: &CStr = c"crypticle: what is opened lies where its body is to go";
const PANIC: &CStr = c"crypticle: a bug of the native part";
const NODE: &CStr = c"crypticle: Node refused a call";

/// Bytes of a Uint8Array, not yet borrowed.
struct Bytes {
    start: *mut u8,
    length: usize,
}

impl Bytes {
    fn part(&self, range: Range<i64>) -> Outcome<Self> {
        let start = usize::try_from(range.start).map_err(|_| OUT_OF_RANGE)?;
        let end = usize::try_from(range.end).map_err(|_| OUT_OF_RANGE)?;
        if start > end || end > self.length {
            return Err(OUT_OF_RANGE);
        }
        Ok(Self { start: self.start.wrapping_add(start), length: end - start })
    }

    fn overlaps(&self, other: &Self) -> bool {
        let (one, two) = (self.start as usize, other.start as usize);
        one < two + other.length && two < one + self.length
    }

    /// SAFETY: no other borrow of these bytes may be written to; for the time of the call only.
    unsafe fn read<'a>(&self) -> &'a [u8] {
        if self.length == 0 {
            return &[];
        }
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    /// SAFETY: there may be no other borrow of these bytes; for the time of the call only.
    unsafe fn write<'a>(&self) -> &'a mut [u8] {
        if self.length == 0 {
            return &mut [];
        }
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

/// The arguments of a call.
struct Call<const COUNT: usize> {
    env: Env,
    arguments: [Value; COUNT],
}

impl<const COUNT: usize> Call<COUNT> {
    fn bytes(&self, at: usize) -> Outcome<Bytes> {
        let (mut kind, mut length, mut start): (c_int, _, *mut c_void) = (-1, 0, null_mut());
        let status = unsafe {
            napi_get_typedarray_info(
                self.env,
                self.arguments[at],
                &mut kind,
                &mut length,
                &mut start,
                null_mut(),
                null_mut(),
            )
        };
        // No address: an array without bytes, or one whose bytes were taken away.
        if status != OK || kind != UINT8_ARRAY || (start.is_null() && length > 0) {
            return Err(NOT_TAKEN);
        }
        Ok(Bytes { start: start.cast(), length })
    }

    fn number(&self, at: usize) -> Outcome<i64> {
        let mut number = 0;
        let status = unsafe { napi_get_value_int64(self.env, self.arguments[at], &mut number) };
        if status == OK { Ok(number) } else { Err(NOT_TAKEN) }
    }

    fn key(&self, at: usize) -> Outcome<&Key> {
        let mut key: *mut c_void = null_mut();
        let status = unsafe { napi_get_value_external(self.env, self.arguments[at], &mut key) };
        if status != OK || key.is_null() {
            return Err(NOT_TAKEN);
        }
        Ok(unsafe { &*key.cast() })
    }

    fn give(&self, number: i64) -> Outcome<Value> {
        give(self.env, number)
    }
}

fn give(env: Env, number: i64) -> Outcome<Value> {
    let mut value = null_mut();
    let status = unsafe { napi_create_int64(env, number, &mut value) };
    if status == OK { Ok(value) } else { Err(NODE) }
}

/// Runs what JavaScript called; what goes wrong is thrown there, and never ends the process.
fn answer<const COUNT: usize>(
    env: Env,
    info: CallInfo,
    act: fn(&Call<COUNT>) -> Outcome<Value>,
) -> Value {
    let done = catch_unwind(AssertUnwindSafe(|| {
        let (mut arguments, mut count) = ([null_mut(); COUNT], COUNT);
        let status = unsafe {
            napi_get_cb_info(env, info, &mut count, arguments.as_mut_ptr(), null_mut(), null_mut())
        };
        if status != OK {
            return Err(NODE);
        }
        // Node fills up with `undefined`.
        act(&Call { env, arguments })
    }));
    let message = match done {
        Ok(Ok(value)) => return value,
        Ok(Err(message)) => message,
        Err(_) => PANIC,
    };
    // If an error is pending already, that one is thrown.
    unsafe { napi_throw_error(env, null(), message.as_ptr()) };
    null_mut()
}

extern "C" fn new_key(env: Env, info: CallInfo) -> Value {
    answer::<1>(env, info, |call| {
        let bytes = call.bytes(0)?;
        // SAFETY: the only borrow.
        let key = Key::new(unsafe { bytes.read() }).ok_or(OUT_OF_RANGE)?;
        let key: *mut c_void = Box::into_raw(Box::new(key)).cast();
        let mut handle = null_mut();
        let status =
            unsafe { napi_create_external(call.env, key, Some(drop_key), null_mut(), &mut handle) };
        if status != OK {
            // SAFETY: Node did not take it.
            drop(unsafe { Box::from_raw(key.cast::<Key>()) });
            return Err(NODE);
        }
        Ok(handle)
    })
}

/// Called by Node once, when the handle was collected or its thread ends.
unsafe extern "C" fn drop_key(_: Env, key: *mut c_void, _: *mut c_void) {
    // SAFETY: made by Box::into_raw in `new_key`.
    let _ = catch_unwind(|| drop(unsafe { Box::from_raw(key.cast::<Key>()) }));
}

extern "C" fn open(env: Env, info: CallInfo) -> Value {
    answer::<6>(env, info, |call| {
        let key = call.key(0)?;
        let from = call.bytes(1)?.part(call.number(2)?..call.number(3)?)?;
        let into = call.bytes(4)?;
        let into = into.part(call.number(5)?..into.length as i64)?;
        if from.overlaps(&into) {
            return Err(OVERLAP);
        }
        // SAFETY: they do not overlap.
        call.give(match key.open(unsafe { from.read() }, unsafe { into.write() }) {
            Ok(length) => length as i64,
            Err(Fault::Mac) => -1,
            Err(Fault::Length) => -2,
            Err(Fault::Prefix) => -3,
            Err(Fault::Room) => return Err(OUT_OF_RANGE),
        })
    })
}

extern "C" fn seal(env: Env, info: CallInfo) -> Value {
    answer::<4>(env, info, |call| {
        let key = call.key(0)?;
        let into = call.bytes(1)?;
        let into = into.part(call.number(2)?..into.length as i64)?;
        let length = usize::try_from(call.number(3)?).map_err(|_| OUT_OF_RANGE)?;
        // SAFETY: the only borrow.
        let sealed = key.seal(unsafe { into.write() }, length).map_err(|_| OUT_OF_RANGE)?;
        call.give(sealed as i64)
    })
}

/// Node calls it when the library is loaded, in each thread that loads it.
#[unsafe(no_mangle)]
extern "C" fn napi_register_module_v1(env: Env, exports: Value) -> Value {
    let functions: [(&CStr, Callback); 3] =
        [(c"newKey", new_key), (c"open", open), (c"seal", seal)];
    for (name, callback) in functions {
        let mut function = null_mut();
        let name = name.as_ptr();
        let status = unsafe {
            napi_create_function(env, name, usize::MAX, callback, null_mut(), &mut function)
        };
        if status == OK {
            offer(env, exports, name, function);
        }
    }
    if let Ok(number) = give(env, INTERFACE) {
        offer(env, exports, c"interface".as_ptr(), number);
    }
    exports
}

/// What could not be offered is missing, which src/native-seal.ts sees.
fn offer(env: Env, exports: Value, name: *const c_char, value: Value) {
    unsafe { napi_set_named_property(env, exports, name, value) };
}

/// Node asks for it before it loads the library.
#[unsafe(no_mangle)]
extern "C" fn node_api_module_get_api_version_v1() -> i32 {
    VERSION
}
