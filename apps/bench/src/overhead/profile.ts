/** What a CPU profile says of who took how much of the time. */

import type { Profiler } from 'node:inspector'

export interface Frame {
  readonly functionName: string
  /** `''` of what is the engine's own. */
  readonly url: string
}

/**
 * The part of the time, from 0 to 1, that the frames themselves took, and what they called of engine and Node. Time that is nobody's
 * (collecting garbage, idle) is left out: it is taken for as everybody's as the rest is.
 */
export function partOf(profile: Profiler.Profile, belongs: (frame: Frame) => boolean): number {
  const callers = new Map(profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)))
  const owns = new Map<number, boolean | undefined>()
  for (const node of profile.nodes) {
    let owner: Profiler.ProfileNode | undefined = node
    while (owner && isBuiltIn(owner.callFrame)) owner = callers.get(owner.id)
    owns.set(node.id, owner && !isNobody(owner.callFrame) ? belongs(owner.callFrame) : undefined)
  }
  let theirs = 0
  let all = 0
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const owned = owns.get(id)
    const time = profile.timeDeltas?.[index] ?? 0
    if (owned === undefined) continue
    all += time
    if (owned) theirs += time
  }
  return theirs / all
}

/** Such as `Object.entries`, or a module of Node: on the account of who called it. */
function isBuiltIn(frame: Frame): boolean {
  return frame.url.startsWith('node:') || (frame.url === '' && !isNobody(frame))
}

/** `(garbage collector)`, `(idle)`, `(program)`, `(root)`. */
function isNobody({ url, functionName }: Frame): boolean {
  return url === '' && functionName.startsWith('(')
}
