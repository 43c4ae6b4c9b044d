/** Gives runs ids that are the same each time. */

/** The next run has this number. Returns a function that undoes this. */
export function countRuns(from = 1): () => void {
  let count = from
  const { randomUUID } = crypto
  Object.assign(crypto, { randomUUID: () => `00000000-0000-4000-8000-${String(count++).padStart(12, '0')}` })
  return () => void Object.assign(crypto, { randomUUID })
}
