/** The signature of a mock endpoint: like a provider's, it belongs to the thinking that it signs. */

/** The place of the block, and a hash of its thinking. */
export function signatureOf(place: string, thinking: string): string {
  return `${place}-${fnv1a(thinking).toString(16).padStart(8, '0')}`
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
