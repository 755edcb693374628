//! What the binding uses of Node-API, as node_api.h of version 8 declares it: a stable C interface,
//! the same from Node 20 on. https://nodejs.org/api/n-api.html

use std::ffi::{c_char, c_int, c_void};

/// The version that the library asks for.
pub const VERSION: i32 = 8;
/// `napi_ok`
pub const OK: c_int = 0;
/// `napi_uint8_array` of `napi_typedarray_type`; a Buffer is one too.
pub const UINT8_ARRAY: c_int = 1;

/// `napi_env`, `napi_value`, `napi_callback_info`: pointers that only Node looks into.
pub type Env = *mut c_void;
pub type Value = *mut c_void;
pub type CallInfo = *mut c_void;
pub type Callback = unsafe extern "C" fn(Env, CallInfo) -> Value;
pub type Finalizer = unsafe extern "C" fn(Env, *mut c_void, *mut c_void);

unsafe extern "C" {
    pub fn napi_create_external(
        env: Env,
        data: *mut c_void,
        finalize: Option<Finalizer>,
        hint: *mut c_void,
        result: *mut Value,
    ) -> c_int;
    pub fn napi_create_function(
        env: Env,
        name: *const c_char,
        length: usize,
        callback: Callback,
        data: *mut c_void,
        result: *mut Value,
    ) -> c_int;
    pub fn napi_create_int64(env: Env, value: i64, result: *mut Value) -> c_int;
    pub fn napi_get_cb_info(
        env: Env,
        info: CallInfo,
        count: *mut usize,
        arguments: *mut Value,
        this: *mut Value,
        data: *mut *mut c_void,
    ) -> c_int;
    pub fn napi_get_typedarray_info(
        env: Env,
        array: Value,
        kind: *mut c_int,
        length: *mut usize,
        data: *mut *mut c_void,
        buffer: *mut Value,
        offset: *mut usize,
    ) -> c_int;
    pub fn napi_get_value_external(env: Env, value: Value, result: *mut *mut c_void) -> c_int;
    pub fn napi_get_value_int64(env: Env, value: Value, result: *mut i64) -> c_int;
    pub fn napi_set_named_property(
        env: Env,
        object: Value,
        name: *const c_char,
        value: Value,
    ) -> c_int;
    pub fn napi_throw_error(env: Env, code: *const c_char, message: *const c_char) -> c_int;
}
