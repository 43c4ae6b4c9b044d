/** Detects timers, handles, listeners and rejections that a run leaves behind. */

import { getEventListeners } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { checkOptions } from '@meanwhile/core'
import { HarnessError } from '../errors.ts'

/** What a leak watch counts. */
export interface LeakOptions {
  /** Signals whose listeners are counted. */
  readonly signals?: readonly AbortSignal[]
  /** Kinds of resources that may remain, by Node's names: `TCPSocketWrap` for connections that are kept alive. */
  readonly ignore?: readonly string[]
}

/** A watch for resources that a test leaves open. */
export interface LeakWatch {
  /**
   * Ends the watch. Waits for some turns of the event loop, then rejects with a {@link LeakError} if there are more
   * timers, sockets or other handles that keep the process alive, or more listeners on the signals, than at the start
   * of the watch; or if a rejection was not handled.
   */
  assertNone(): Promise<void>
}

/** Something was left behind. */
export class LeakError extends HarnessError {
  static override readonly brand: string = 'LeakError'
  /** For example `1 Timeout`, `2 listeners on signal 1`, `1 unhandled rejection: no`. */
  readonly leaks: readonly string[]

  constructor(leaks: readonly string[]) {
    super(`left behind: ${leaks.join(', ')}`)
    this.leaks = leaks
  }
}

/** Starts watching. Works with real timers only, because fake ones do not keep a process alive. */
export function watchLeaks(options: LeakOptions = {}): LeakWatch {
  checkOptions('watchLeaks', options, { signals: '', ignore: '' })
  const { signals = [], ignore = [] } = options
  const rejections: string[] = []
  const note = (reason: unknown): void => void rejections.push(`1 unhandled rejection: ${String(reason)}`)
  process.on('unhandledRejection', note)
  const before = count()
  return { assertNone }

  async function assertNone(): Promise<void> {
    let leaks = added()
    for (let turn = 0; turn < TURNS && (turn < 2 || leaks.length > 0); turn++) {
      await setImmediate()
      leaks = added()
    }
    process.off('unhandledRejection', note)
    if (leaks.length > 0) throw new LeakError(leaks)
  }

  function added(): string[] {
    const more = [...count()].map(([what, there]) => [what, there - (before.get(what) ?? 0)] as const)
    return [...more.filter(([, left]) => left > 0).map(([what, left]) => `${left} ${what}`), ...rejections]
  }

  function count(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const kind of process.getActiveResourcesInfo()) {
      if (!ignore.includes(kind) && !OURS.includes(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
    }
    for (const [i, signal] of signals.entries()) {
      counts.set(`listeners on signal ${i + 1}`, getEventListeners(signal, 'abort').length)
    }
    return counts
  }
}

const TURNS = 50

/** A resource that the watch itself uses. */
const OURS = ['Immediate']
