/** What replaces the functions of OpenAI Agents in its tests. */

import { type Eager, listeners, reads, type SpliceSettings, withMethod } from './wraps.ts'

interface Agent {
  readonly tools?: readonly { readonly name?: string; readonly type?: string }[]
  readonly handoffs?: readonly (Agent | { readonly agent: Agent })[]
}

interface Runner {
  run(agent: Agent, ...rest: readonly unknown[]): Promise<unknown>
}

type Constructor = new (...args: readonly unknown[]) => Runner
type Run = (agent: Agent, ...rest: readonly unknown[]) => Promise<unknown>

export function wraps(eager: Eager | undefined, settings: SpliceSettings) {
  /** The tools are known when an agent is run. */
  function spliced(runner: Runner): Runner {
    if (!eager) return runner
    const eagerRunners = new Map<string, Runner>()
    return withMethod(runner, 'run', () => (agent, ...rest) => {
      const names = namesOf(agent as Agent)
      const key = names.join()
      const eagerRunner = eagerRunners.get(key) ?? eager(runner, reads(names), listeners(settings))
      eagerRunners.set(key, eagerRunner)
      return eagerRunner.run(agent as Agent, ...rest)
    })
  }
  const Spliced = (plain: Constructor): Constructor =>
    new Proxy(plain, {
      construct: (target, args, newTarget) => spliced(Reflect.construct(target, args, newTarget) as Runner),
    })
  // `run` asks a runner that nobody sees, and so stays as it is.
  return { Runner: Spliced, run: (plain: Run): Run => plain }
}

/** Of an agent and of all that it may hand over to. */
function namesOf(agent: Agent, seen = new Set<Agent>()): readonly string[] {
  if (typeof agent !== 'object' || seen.has(agent)) return []
  seen.add(agent)
  const own = (agent.tools ?? []).flatMap(({ name, type }) => (type === 'function' && name !== undefined ? [name] : []))
  const others = (agent.handoffs ?? []).flatMap((one) => namesOf('agent' in one ? one.agent : one, seen))
  return [...new Set([...own, ...others])]
}
