/** Draws single marks of a picture: on its time axis, and in the moving form when they happen. */

import { type Html, html } from '../report/html.ts'
import type { Size } from './size.ts'

export interface Pen {
  readonly size: Size
  /** Where a time is. */
  x(time: number): number
  /** A bar that grows from one time to another. */
  bar(kind: string, from: number, to: number, place: Place): Html
  /** A text, which appears at a time; without one it is always there. */
  label(kind: string, words: string, at: { readonly x: number; readonly y: number } & Options): Html
  /** The attribute of anything that appears at a time. */
  from(time: number): Html | undefined
}

interface Place {
  readonly y: number
  readonly height: number
  readonly radius: number
}

interface Options {
  readonly anchor?: 'middle' | 'end'
  readonly time?: number
}

/** `span` is the time that the whole width represents. */
export function penOf(size: Size, span: number, moving: boolean): Pen {
  const x = (time: number): number => tidy(size.pad + (time / span) * (size.width - 2 * size.pad))
  const animation = (name: string, takes: number, time: number): Html | undefined =>
    moving ? html` style="animation:${name} ${tidy(takes / 1_000)}s ${tidy(time / 1_000)}s both"` : undefined
  const from = (time: number): Html | undefined => animation('appear', 250, time)
  return {
    size,
    x,
    from,
    bar: (kind, begin, end, { y, height, radius }) =>
      html`<rect class="${kind}" x="${x(begin)}" y="${tidy(y)}" width="${tidy(x(end) - x(begin))}" height="${tidy(height)}" rx="${radius}"${animation('grow linear', end - begin, begin)}/>`,
    label: (kind, words, { x, y, anchor, time }) =>
      html`<text class="${kind}" x="${tidy(x)}" y="${tidy(y)}"${anchor && html` text-anchor="${anchor}"`}${time === undefined ? undefined : from(time)}>${words}</text>`,
  }
}

/** Whether words have room in a bar. A letter of the widest usual typeface takes 0.6 of its size. */
export function fits(words: string, size: number, room: number): boolean {
  return words.length * size * 0.6 + size * 0.7 <= room
}

/** The first words that fit. */
export function fitting(words: readonly string[], size: number, room: number): string | undefined {
  return words.find((some) => fits(some, size, room))
}

export const tidy = (value: number): number => Number(value.toFixed(1))
