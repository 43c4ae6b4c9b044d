/** Shows a path move by move: the events that follow each move, and what may happen at its end. */

import { StandingClock } from '../standing-clock.ts'
import { replayed, undisturbedHistory } from './explorer.ts'
import type { LoadedCore } from './inside.ts'
import { broken } from './promises/index.ts'
import type { Scenario } from './scenario.ts'

export async function shown(scenario: Scenario, on: LoadedCore, path: readonly string[]): Promise<string> {
  const clock = new StandingClock()
  const uninstall = clock.install()
  try {
    const expected = await undisturbedHistory(scenario, on, clock)
    const lines = [JSON.stringify(scenario)]
    let before = 0
    for (const length of path.keys()) {
      // From the beginning each time, as the explorer does.
      const world = await replayed(scenario, on, clock, path.slice(0, length + 1))
      const { events } = world.journal.now
      if (events.length < before) before = 0
      lines.push(`— ${path[length]}`, ...events.slice(before).map((event) => `    ${JSON.stringify(event)}`))
      before = events.length
      const problem = broken(world, expected)
      if (problem) lines.push(`BROKEN  ${problem.join(': ')}`)
      if (length < path.length - 1) continue
      lines.push(`may happen next: ${world.moves().join(' | ')}`)
      for (const { word, key, process, came } of world.journal.entries)
        lines.push(`executed: ${word} (${key}) in process ${process}: ${came ?? 'running'}`)
      lines.push(`result: ${JSON.stringify(world.journal.now.result ?? String(world.journal.now.error))}`)
    }
    return lines.join('\n')
  } finally {
    uninstall()
  }
}
