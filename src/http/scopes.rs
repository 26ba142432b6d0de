//! Scopes: what the interface calls the roles of keys.

use exchange::command::Role;

/// The scope's name.
pub const fn scope_name(role: Role) -> &'static str {
    match role {
        Role::Reader => "read",
        Role::Trader => "trade",
        staff => staff.name(),
    }
}
