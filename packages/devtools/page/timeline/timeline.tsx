/** The timeline: responses as ribbons, and the calls under them. */

import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { axisOf, pausesOf, type Span, ticksOf } from '../../src/geometry/axis.ts'
import { drawingOf } from '../../src/geometry/rows.ts'
import { layoutOf, type View } from '../../src/geometry/views.ts'
import { counted, duration } from '../../src/geometry/words.ts'
import type { Run } from '../../src/model/run.ts'
import { AxisLabels } from './axis-labels.tsx'
import type { Pointed } from './bar-props.ts'
import { CallBars } from './call-row.tsx'
import { Gutter } from './gutter.tsx'
import { Overview } from './overview.tsx'
import { PackedBars } from './packed-row.tsx'
import { Patterns, SAVED } from './patterns.tsx'
import { Ribbons } from './response-row.tsx'
import { Tip } from './tip.tsx'
import { useZoom } from './zoom.ts'

export interface TimelineProps {
  readonly run: Run
  readonly view: View
  readonly now: number
  readonly narrow: boolean
  readonly selected: string | undefined
  readonly onSelect: (at: string) => void
  readonly window?: Span
  /** What a long run shows first. */
  readonly first: Span | undefined
  readonly onZoom: (window: Span | undefined) => void
  readonly children: ComponentChildren
}

const GUTTER = 148
const MARGIN = { wide: 20, narrow: 16 }
/** Rows that are near are in the page, too, so that scrolling shows them at once. */
const NEAR = 300

export function Timeline(props: TimelineProps) {
  const { run, view, now, narrow, selected, onSelect, window, first, onZoom, children } = props
  const box = useRef<HTMLElement>(null)
  const size = useSize(box)
  const [folded, toggleFolded] = useToggles()
  const [opened, toggleOpened] = useToggles()
  const [pointed, setPointed] = useState<Pointed>()

  const gutter = narrow ? 0 : GUTTER
  const width = Math.max(100, size.width - gutter - (narrow ? MARGIN.narrow : MARGIN.wide))
  const layouts = useMemo(() => layoutsOf(run, view, now), [run, view, now])
  const whole = { from: run.start, to: run.start + (layouts.longest - run.start) * 1.01 }
  const shown = window ?? whole
  const pauses = useMemo(() => pausesOf(run, layouts.view, now), [run, layouts, now])
  const axis = useMemo(() => axisOf(shown, width, pauses), [shown.from, shown.to, width, pauses])
  const wholeAxis = useMemo(() => axisOf(whole, width, pauses), [whole.from, whole.to, width, pauses])
  const drawing = useMemo(
    () => drawingOf(run, { view, now, folded, opened, narrow, ...(window && { window }) }),
    [run, view, now, folded, opened, narrow, window?.from, window?.to],
  )
  const zoom = useZoom({ axis, whole, shown, gutter, onZoom })

  const isNear = ({ y, height }: { readonly y: number; readonly height: number }) =>
    narrow || (y + height > size.top - NEAR && y < size.top + size.height + NEAR)
  const rows = drawing.rows.filter(isNear)
  const ended = run.end ?? now
  const after = layouts.after.end
  const savedFrom =
    view === 'was' && run.end !== undefined && run.dialect === 'meanwhile' && after - ended > 1 ? ended : undefined
  const ticks = ticksOf(axis, run.start).filter(({ x }) => savedFrom === undefined || x < axis.x(after) - 110)
  const clip = (x: number) => Math.max(-4, Math.min(width + 4, x))
  const shared = { run, axis, now, view, narrow, selected, onSelect, onPoint: setPointed }

  return (
    <section
      ref={box}
      class={run.state === 'running' ? 'timeline moving' : 'timeline'}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls and has keys
      tabIndex={0}
      aria-label="Calls over time. Plus and minus zoom, arrows move, zero shows all."
      onWheel={zoom.onWheel}
      onKeyDown={zoom.onKey}
      onMouseLeave={() => setPointed(undefined)}
    >
      <div class="pinned">
        {(first || window) && (
          <Overview
            {...{ run, gutter, width, first, now, whole, onZoom }}
            layout={layouts.view}
            axis={wholeAxis}
            {...(window && { window })}
          />
        )}
        <AxisLabels
          {...{ axis, ticks, gutter }}
          saved={savedFrom === undefined ? undefined : { x: axis.x(after), words: `${duration(after - ended)} saved` }}
        />
      </div>
      <svg
        class="lanes"
        width={gutter + width + MARGIN.wide}
        height={drawing.height + 10}
        role="img"
        aria-label={`${counted(run.steps.length, 'step')}, ${counted(run.calls, 'call')}, ${duration(ended - run.start)}`}
      >
        <Patterns />
        <clipPath id="inside">
          <rect x="-3" y="-30" width={width + 6} height={drawing.height + 60} />
        </clipPath>
        <g transform={`translate(${gutter} 0)`}>
          {ticks.map(({ x, label }) => (
            <line key={label} class="grid" x1={x} x2={x} y2={drawing.height} />
          ))}
          <g clip-path="url(#inside)">
            {axis.folds.map(({ x, from }) => (
              <path key={from} class="fold" d={`M${x + 12} 0V${drawing.height}M${x + 22} 0V${drawing.height}`} />
            ))}
            {savedFrom !== undefined && (
              <g class="saved-area">
                <rect
                  x={axis.x(savedFrom)}
                  width={Math.max(0, axis.x(after) - axis.x(savedFrom))}
                  height={drawing.height}
                />
                <rect
                  fill={SAVED}
                  x={axis.x(savedFrom)}
                  width={Math.max(0, axis.x(after) - axis.x(savedFrom))}
                  height={drawing.height}
                />
              </g>
            )}
            {drawing.canopies.filter(isNear).map(({ key, y, height, from, to, depth, failed }) => {
              const [x1, x2] = [clip(axis.x(from)), clip(axis.x(to))]
              const kind = failed ? 'canopy failed' : depth > 0 ? 'canopy inner' : 'canopy'
              return <rect key={key} class={kind} x={x1} y={y} width={Math.max(1, x2 - x1)} height={height} rx="3" />
            })}
            <line class="run-end" x1={axis.x(layouts.view.end)} x2={axis.x(layouts.view.end)} y2={drawing.height} />
            {view !== 'was' && <line class="was-end" x1={axis.x(ended)} x2={axis.x(ended)} y2={drawing.height} />}
            {drawing.frames.filter(isNear).map(({ key, y, height, from, to }) => (
              <rect
                key={key}
                class="frame"
                x={axis.x(from)}
                y={y}
                width={Math.max(4, axis.x(to) - axis.x(from))}
                height={height}
                rx="4"
              />
            ))}
            {rows.map((row) => {
              if (row.kind === 'call') return <CallBars key={row.key} row={row} {...shared} />
              if (row.kind === 'packed') return <PackedBars key={row.key} row={row} {...shared} />
              return <Ribbons key={row.key} row={row} {...shared} onOpen={() => toggleOpened(row.key)} />
            })}
          </g>
        </g>
        {!narrow && <Gutter {...{ rows, gutter, folded }} onFold={toggleFolded} onOpen={toggleOpened} />}
      </svg>
      {children}
      {pointed && <Tip pointed={pointed} now={now} />}
    </section>
  )
}

/** The axis is as long as the longest of these views, so that it does not jump when another one is chosen. */
function layoutsOf(run: Run, view: View, now: number) {
  const [chosen, after] = [layoutOf(run, view, now), layoutOf(run, 'after', now)]
  const longest = Math.max(run.end ?? now, chosen.end, run.end === undefined ? now : after.end, run.start + 1)
  return { view: chosen, after, longest }
}

interface Size {
  readonly width: number
  readonly height: number
  readonly top: number
}

function useSize(box: { readonly current: HTMLElement | null }): Size {
  const [size, setSize] = useState<Size>({ width: 800, height: 900, top: 0 })
  useEffect(() => {
    const element = box.current
    if (!element) return
    const measure = (): void =>
      setSize({ width: element.clientWidth, height: element.clientHeight, top: element.scrollTop })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])
  return size
}

function useToggles(): readonly [ReadonlySet<string>, (key: string) => void] {
  const [on, setOn] = useState<ReadonlySet<string>>(new Set())
  const toggle = (key: string): void =>
    setOn((known) => new Set(known.has(key) ? [...known].filter((one) => one !== key) : [...known, key]))
  return [on, toggle]
}
