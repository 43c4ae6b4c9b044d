/** What a tool may do to the world, as users write it. */
export const EFFECTS = ['read', 'idempotent', 'reversible', 'external'] as const
