// The door: named exports only, types apart.
export {};
