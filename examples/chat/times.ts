/** When the model wrote and when the tools ran in a turn: milliseconds since it began. The time in which it waited for a person does not count. */

export interface Times {
  /** Whether tools could start while the model was still writing. */
  readonly early: boolean
  /** In milliseconds since 1970, later by all of its breaks. */
  readonly began: number
  readonly state: 'open' | 'ended' | 'cut'
  readonly steps: readonly StepTimes[]
  /** It waited for a person, or another process took it over, which lost what ran. */
  readonly breaks: readonly { readonly at: number; readonly why: 'you' | 'restart' }[]
  /** Its run, for a link to the devtools. */
  readonly run?: string
  /** Of an open turn: how long it has taken so far. */
  readonly now?: number
}

export interface StepTimes {
  readonly at: number
  readonly first?: number
  readonly end?: number
  /** Its response was not accepted. */
  readonly isFailed?: true
  readonly calls: readonly CallTimes[]
}

export interface CallTimes {
  readonly id: string
  readonly tool: string
  /** When early tools may start it: only a tool that only reads. */
  readonly ready?: number
  readonly start?: number
  readonly end?: number
  readonly isFailed?: true
}

/** How long the turn took, and how long it would have taken with the switch in its other position. */
export function totals({ early, steps, breaks, now = 0 }: Times): { readonly total: number; readonly other: number } {
  let total = now
  let gained = 0
  for (const { at, end = Math.max(now, at), isFailed, calls } of steps) {
    const asked = breaks.find((one) => one.at >= end)?.at ?? Number.POSITIVE_INFINITY
    // What ran after an answer would have run then in both.
    const ran = isFailed ? [] : calls.filter(({ start = asked }) => start < asked)
    const was = ran.map(({ start = 0, end = start }) => end)
    const would = ran.map(({ start = 0, end: until = start, ready = start }) => {
      return (early ? Math.max(end, start) : ready) + until - start
    })
    gained += Math.max(end, ...would) - Math.max(end, ...was)
    total = Math.max(total, end, ...calls.map((call) => call.end ?? call.start ?? 0))
  }
  return { total, other: total + gained }
}
