/** Words that say when they were sent, so that a reader knows how late they are. All processes of a machine share the clock. */

const WRAP = 10_000_000

function now(): number {
  return (performance.timeOrigin + performance.now()) % WRAP
}

/** Returns a word with the current time. */
export function stamp(): string {
  return ` t${now().toFixed(1).padStart(9, '0')}`
}

/** Returns how many milliseconds ago each word in the text was sent. */
export function agesIn(text: string): readonly number[] {
  const at = now()
  return [...text.matchAll(/ t(\d{7}\.\d)/g)].map(([, time]) => (at - Number(time) + WRAP) % WRAP)
}
