/** Zooms and moves the timeline: ctrl or ⌘ with the wheel, pinch, and keys. */

import type { Axis, Span } from '../../src/geometry/axis.ts'

export interface ZoomProps {
  readonly axis: Axis
  readonly whole: Span
  readonly shown: Span
  readonly gutter: number
  readonly onZoom: (window: Span | undefined) => void
}

const LEAST_MS = 2

export function useZoom({ axis, whole, shown, gutter, onZoom }: ZoomProps) {
  const length = shown.to - shown.from

  function show(from: number, ms: number): void {
    const wanted = Math.max(LEAST_MS, ms)
    const start = Math.max(whole.from, Math.min(from, whole.to - wanted))
    onZoom(wanted < (whole.to - whole.from) * 0.999 ? { from: start, to: start + wanted } : undefined)
  }

  return {
    // A pinch on a trackpad is a wheel with ctrl. Without it the page scrolls.
    onWheel(event: WheelEvent & { readonly currentTarget: HTMLElement }): void {
      if (!event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      const place = event.clientX - event.currentTarget.getBoundingClientRect().left - gutter
      const at = axis.time(Math.max(0, Math.min(axis.width, place)))
      const ms = length * Math.exp(event.deltaY * 0.002)
      show(at - (at - shown.from) * (ms / length), ms)
    },
    onKey(event: KeyboardEvent): void {
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key === '+' || event.key === '=') show(shown.from + length * 0.2, length * 0.6)
      else if (event.key === '-') show(shown.from - length * 0.3, length * 1.6)
      else if (event.key === '0') onZoom(undefined)
      else if (event.key === 'ArrowRight') show(shown.from + length * 0.2, length)
      else if (event.key === 'ArrowLeft') show(shown.from - length * 0.2, length)
      else return
      event.preventDefault()
    },
  }
}
