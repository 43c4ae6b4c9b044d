/** Computes shares of time from a CPU profile. */

import type { Profiler } from 'node:inspector'

export interface Frame {
  readonly functionName: string
  /** `''` for frames of the engine. */
  readonly url: string
}

/**
 * The share of the time, from 0 to 1, of these frames themselves, including engine and Node functions that they called. Time without an owner
 * (garbage collection, idle) is left out: it is assumed to be distributed like the rest.
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

/** Such as `Object.entries`, or a module of Node: counted for the caller. */
function isBuiltIn(frame: Frame): boolean {
  return frame.url.startsWith('node:') || (frame.url === '' && !isNobody(frame))
}

/** `(garbage collector)`, `(idle)`, `(program)`, `(root)`. */
function isNobody({ url, functionName }: Frame): boolean {
  return url === '' && functionName.startsWith('(')
}
