/** One run as a row of a picture: its responses, below them a lane for each tool, and where it ends. */

import { type Html, html } from '../report/html.ts'
import { type PicturedRun, seconds } from './figures.ts'
import { fits, fitting, type Pen, tidy } from './pen.ts'
import type { Words } from './words.ts'

export interface Row {
  readonly svg: Html
  readonly top: number
  readonly bottom: number
}

interface Lane {
  readonly call: PicturedRun['calls'][number]
  readonly y: number
  readonly height: number
  readonly middle: number
}

export interface RowOptions {
  readonly run: PicturedRun
  readonly words: Words
  readonly top: number
  /** The same run with tools that waited. Absent: this is that run. */
  readonly waited?: PicturedRun
}

/** A call that waits for less is not seen to wait. */
const SEEN_TO_WAIT = 30

export function rowOf(pen: Pen, { run, words, top: y, waited }: RowOptions): Row {
  const { size } = pen
  const top = y + size.head
  const lanes = lanesOf(pen, run, top)
  const last = lanes.at(-1)
  const bottom = last ? last.y + last.height + size.gap * 1.5 : top + size.ribbon
  const place = { y: top, height: bottom - top, radius: size.radius }
  const svg = html`${canopy(pen, run, place)}
${waited && saved(pen, run, waited, words, place)}
${responses(pen, run, words, top)}
${lanes.map((lane, index) => tool(pen, lane, index === 0 ? size.radius : size.radius / 2))}
${slowWords(pen, run, lanes, words, waited !== undefined)}
${quickWords(pen, lanes.slice(1), words, waited !== undefined)}
${head(pen, run, waited ? words.meanwhile : words.usually, y, waited !== undefined)}
<line class="end${waited ? ' good' : ''}" x1="${pen.x(run.end)}" x2="${pen.x(run.end)}" y1="${tidy(top - size.gap)}" y2="${tidy(bottom)}"${pen.from(run.end)}/>`
  return { svg, top, bottom }
}

/** The first call is the slow one; the others are quick. */
function lanesOf({ size }: Pen, { calls }: PicturedRun, top: number): readonly Lane[] {
  let y = top + size.ribbon + size.gap * 1.5
  return calls.map((call, index) => {
    const height = index === 0 ? size.slow : size.quick
    const lane = { call, y, height, middle: tidy(y + height / 2) }
    y += height + size.gap * (index === 0 ? 1.5 : 1)
    return lane
  })
}

type Place = Parameters<Pen['bar']>[3]

/** The time in which the model still writes, behind the tools. */
function canopy(pen: Pen, { streams: [first] }: PicturedRun, place: Place): Html | undefined {
  if (!first) return undefined
  const [x, end] = [pen.x(first.begin), pen.x(first.end)]
  return html`<rect class="canopy" x="${x}" y="${tidy(place.y)}" width="${tidy(end - x)}" height="${tidy(place.height)}" rx="${place.radius}"/>`
}

function saved(pen: Pen, run: PicturedRun, waited: PicturedRun, words: Words, { y, height, radius }: Place): Html {
  const { figure, label } = pen.size
  const [from, to] = [pen.x(run.end), pen.x(waited.end)]
  const [x, middle] = [(from + to) / 2, y + height / 2]
  const share = `${Math.round((1 - run.end / waited.end) * 100)} %`
  const isLarge = to - from > 3 * figure
  const below = isLarge ? figure * 0.1 + label * 1.35 : label * 1.2
  return html`<g${pen.from(waited.end)}><rect class="saved" x="${from}" y="${tidy(y)}" width="${tidy(to - from)}" height="${tidy(height)}" rx="${radius}"/>
${pen.label(isLarge ? 'gain' : 'sooner', share, { x, y: middle + (isLarge ? figure * 0.1 : 0), anchor: 'middle' })}
${pen.label('sooner', words.sooner, { x, y: middle + below, anchor: 'middle' })}</g>`
}

function responses(pen: Pen, { streams }: PicturedRun, words: Words, y: number): Html {
  const { ribbon, radius, label } = pen.size
  const place = { y, height: ribbon, radius }
  const [first, answer] = streams
  const roomOf = (stream = { begin: 0, end: 0 }): number => pen.x(stream.end) - pen.x(stream.begin)
  const model = fitting(words.model, label, roomOf(first))
  const small = label * 0.86
  const bars = streams.map(({ begin, end }) => pen.bar('ribbon', begin, end, place))
  const texts: Html[] = []
  if (first && model)
    texts.push(
      pen.label('writes', model, {
        x: pen.x(first.begin) + label * 0.6,
        y: y + ribbon / 2 + label * 0.35,
        time: first.begin + 300,
      }),
    )
  if (answer && fits(words.answer, small * 0.85, roomOf(answer)))
    texts.push(
      pen.label('answers', words.answer, {
        x: (pen.x(answer.begin) + pen.x(answer.end)) / 2,
        y: y + ribbon / 2 + label * 0.3,
        anchor: 'middle',
        time: answer.end - 150,
      }),
    )
  return html`${bars}
${texts}`
}

function tool(pen: Pen, { call, y, height, middle }: Lane, radius: number): Html {
  const { argsDone, entered, settled } = call
  const [ready, start] = [pen.x(argsDone), pen.x(entered)]
  const waits =
    entered - argsDone > SEEN_TO_WAIT
      ? html`<line class="wait" x1="${ready}" y1="${middle}" x2="${start}" y2="${middle}"${pen.from(argsDone)}/><circle class="dot" cx="${ready}" cy="${middle}" r="${tidy(pen.size.quick * (radius === pen.size.radius ? 0.42 : 0.32))}"${pen.from(argsDone)}/>`
      : undefined
  return html`${waits}${pen.bar('tool', entered, settled, { y, height, radius })}`
}

function slowWords(pen: Pen, run: PicturedRun, [slow]: readonly Lane[], words: Words, isEarly: boolean): Html {
  const { label } = pen.size
  if (!slow) return html``
  const { argsDone, entered, settled } = slow.call
  const names = words.slow(run)
  const y = slow.middle + label * 0.34
  const name = fitting(names, label, pen.x(settled) - pen.x(entered))
  return html`${
    name
      ? pen.label('runs', name, { x: pen.x(entered) + label * 0.55, y, time: entered + 200 })
      : pen.label('aside', names.at(-1) ?? '', { x: pen.x(settled) + label * 0.5, y, time: settled })
  }${isEarly ? undefined : pen.label('waits', words.waits, { x: pen.x(argsDone) + label * 0.9, y, time: argsDone })}`
}

function quickWords(pen: Pen, quick: readonly Lane[], words: Words, isEarly: boolean): Html | undefined {
  const { label } = pen.size
  const [first, last] = [quick.at(0), quick.at(-1)]
  const beside = quick.at(-2)
  if (!first || !last || !beside) return undefined
  const drop = label * 0.35
  return isEarly
    ? pen.label('aside', words.quick, {
        x: pen.x(beside.call.entered) - label * 0.6,
        y: beside.middle + drop,
        anchor: 'end',
        time: beside.call.settled,
      })
    : pen.label('aside', words.quick, {
        x: pen.x(first.call.settled) + label * 0.5,
        y: (first.middle + last.middle) / 2 + drop,
        time: first.call.settled,
      })
}

/** The title, and the time over the end of the run; where the title reaches that far, right of the end. */
function head(pen: Pen, run: PicturedRun, titles: readonly string[], y: number, isEarly: boolean): Html {
  const { size } = pen
  const end = pen.x(run.end)
  const fitted = fitting(titles, size.title, end - size.figure * 2.6)
  const isLeft = fitted !== undefined || !isEarly
  return html`${pen.label('title', fitted ?? titles.at(-1) ?? '', { x: pen.x(0), y: y + size.head - size.gap * 2 })}
${pen.label(isEarly ? 'figure good' : 'figure', `${seconds(run)} s`, {
  x: isLeft ? end : end + size.gap,
  y: y + size.head - size.gap * 1.6,
  ...(isLeft && { anchor: 'end' as const }),
  time: run.end,
})}`
}
