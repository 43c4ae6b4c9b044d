/** Durations and counts, as the page writes them. */

/** `935 ms`, `1.02 s`, `18:15 min`. */
export function duration(ms: number): string {
  const size = Math.abs(ms)
  if (size < 999.5) return `${Math.round(ms)} ms`
  if (size < 59_995) return `${(ms / 1_000).toFixed(2)} s`
  return clock(ms)
}

/** `18:15 min`, `2:05 h`. */
function clock(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  const pair = (whole: number, part: number) => `${whole}:${String(part).padStart(2, '0')}`
  if (seconds < 3_600) return `${pair(Math.floor(seconds / 60), seconds % 60)} min`
  const minutes = Math.round(seconds / 60)
  return `${pair(Math.floor(minutes / 60), minutes % 60)} h`
}

/** The label of a tick; `step` is the distance between ticks. */
export function tick(ms: number, step: number): string {
  if (ms === 0) return '0'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000 || step < 1_000) return `${trimmed(ms / 1_000, step < 100 ? 2 : step < 1_000 ? 1 : 0)} s`
  return ms % 60_000 === 0 ? `${ms / 60_000} min` : clock(ms)
}

const trimmed = (value: number, digits: number): string => String(Number(value.toFixed(digits)))

/** `1 156 900`, with thin spaces; `–` if nothing told it. */
export function count(value: number | undefined): string {
  return value === undefined ? '–' : String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, '\u202f')
}

/** `1 call`, `2 calls`. */
export const counted = (many: number, what: string): string => `${count(many)} ${what}${many === 1 ? '' : 's'}`
