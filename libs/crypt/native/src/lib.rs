//! Salt's seal (salt/crypt.py Crypticle) for Node. `crypticle` computes, in safe Rust alone;
//! `binding` is what JavaScript calls; `node_api` declares what the binding uses of Node.

// Tests link without Node, so without its functions.
#[cfg(not(test))]
mod binding;
#[cfg_attr(test, allow(dead_code))]
mod crypticle;
#[cfg(not(test))]
mod node_api;
