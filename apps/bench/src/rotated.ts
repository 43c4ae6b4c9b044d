/** The same items, rotated by this many: in a series of turns each item is first once. */
export function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  if (items.length === 0) return items
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
