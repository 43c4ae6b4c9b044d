/** Formats figures for people; a dash if there is none. */

export const NONE = '–'

/** `1,914` */
export function milliseconds(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : Math.round(value).toLocaleString('en')
}

/** `+952`, `−249`, `0` */
export function signed(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE
  const rounded = Math.round(value)
  return rounded === 0 ? '0' : `${rounded > 0 ? '+' : '−'}${Math.abs(rounded).toLocaleString('en')}`
}

/** `+940 … +958` */
export function spread(range: readonly [min: number, max: number] | null | undefined): string {
  return range ? `${signed(range[0])} … ${signed(range[1])}` : NONE
}

/** `1.004`: ratios have thousandths. */
export function ratio(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : value.toFixed(3)
}

/** `0.42`, `12`, `1,304`: two digits where they matter. */
export function precise(value: number | null | undefined): string {
  if (value === null || value === undefined) return NONE
  return value < 10 ? value.toFixed(2) : milliseconds(value)
}

/** `33 %` */
export function percent(part: number): string {
  const rounded = Math.round(part * 100)
  return `${rounded === 0 ? 0 : rounded} %`
}

/** `3 runs`, `1 run` */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
