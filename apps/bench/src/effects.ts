/** The effects of tools, as users write them. */
export const EFFECTS = ['read', 'idempotent', 'reversible', 'external'] as const
