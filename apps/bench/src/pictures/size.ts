/** The measures of a picture, in its own pixels. */

export interface Size {
  readonly width: number
  /** At the left and the right of a row. */
  readonly pad: number
  /** The title of a row, and the figure at its end. */
  readonly head: number
  readonly title: number
  readonly figure: number
  /** A response. */
  readonly ribbon: number
  readonly radius: number
  /** A slow tool, a quick one, and the space between two. */
  readonly slow: number
  readonly quick: number
  readonly gap: number
  readonly betweenRows: number
  readonly label: number
  readonly axis: number
  readonly axisText: number
  /** The mark where a run ends, and the dots of a call that waits. */
  readonly line: number
  readonly dots: string
}

/** As wide as a text. */
export const WIDE: Size = {
  width: 960,
  pad: 2,
  head: 40,
  title: 23,
  figure: 34,
  ribbon: 34,
  radius: 6,
  slow: 24,
  quick: 11,
  gap: 6,
  betweenRows: 34,
  label: 18,
  axis: 30,
  axisText: 16,
  line: 2,
  dots: '2 5',
}

/** As wide as a phone. */
export const NARROW: Size = {
  width: 358,
  pad: 1,
  head: 30,
  title: 14,
  figure: 23,
  ribbon: 24,
  radius: 4,
  slow: 18,
  quick: 7,
  gap: 4,
  betweenRows: 22,
  label: 13,
  axis: 24,
  axisText: 12,
  line: 1.25,
  dots: '1.5 3',
}
