/** The same items in the same circle, begun so much further on: of those who take turns each is first once. */
export function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  if (items.length === 0) return items
  const at = by % items.length
  return [...items.slice(at), ...items.slice(0, at)]
}
