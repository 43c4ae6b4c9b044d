/** Collects the scenarios: built-in ones, and those in files of users. */

import { readFile } from 'node:fs/promises'
import { messageOf } from '@meanwhile/core'
import type { BenchOptions } from './cli.ts'
import { replayScenarios } from './replay/replay-scenarios.ts'
import type { Scenario } from './scenario.ts'
import { ALL_SCENARIOS, SCENARIOS } from './scenarios.ts'
import { UsageError } from './usage-error.ts'
import { parseWorkload } from './workload/parse-workload.ts'
import { workloadScenario } from './workload/workload-scenario.ts'

export interface Sources {
  readonly scenarios: readonly Scenario[]
  /** Notes for readers of the figures. */
  readonly remarks: readonly string[]
}

/** Throws a `UsageError` if a file cannot be read or is not valid. */
export async function sourcesOf({ scenarios, workloads, replay }: BenchOptions): Promise<Sources> {
  const ours = scenarios.map((id) => SCENARIOS[id])
  const loads = await Promise.all(
    workloads.map(async (file) => workloadScenario(parseWorkload(await text(file), file), file)),
  )
  const played = replay && (await replayScenarios(await text(replay.file), new Map(replay.tools), replay.file))
  return {
    scenarios: withOwnIds([...ours, ...loads, ...(played?.scenarios ?? [])]),
    remarks: [...(loads.length > 0 ? [WORKLOADS] : []), ...(played?.remarks ?? [])],
  }
}

const WORKLOADS =
  'Workloads: the model is a script and the tools are stand-ins: times are as exact as the file that defines them.'

async function text(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`${file} cannot be read: ${messageOf(cause)}`, { cause })
  }
}

/** A file may have the name of another file, or of a built-in scenario. */
function withOwnIds(scenarios: readonly Scenario[]): readonly Scenario[] {
  const taken = new Set<string>(ALL_SCENARIOS)
  return scenarios.map((scenario) => {
    if (ALL_SCENARIOS.some((id) => SCENARIOS[id] === scenario)) return scenario
    let { id } = scenario
    for (let again = 2; taken.has(id); again++) id = `${scenario.id}-${again}`
    taken.add(id)
    return { ...scenario, id }
  })
}
