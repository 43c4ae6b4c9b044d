/** Shows a path move by move: the events that follow each move, and what may happen at its end. */

import { replayed, undisturbedHistory } from './explorer.ts'
import type { LoadedCore } from './inside.ts'
import { brokenIn } from './promises/index.ts'
import type { Scenario } from './scenario.ts'

export async function shown(scenario: Scenario, on: LoadedCore, path: readonly string[]): Promise<string> {
  const expected = await undisturbedHistory(scenario, on)
  const world = await replayed(scenario, on, [])
  const lines: string[] = []
  for (const move of path) {
    const { place } = world
    const { length } = place.events
    await world.do(move)
    const events = place === world.place ? place.events.slice(length) : world.place.events
    lines.push(`— ${move}`, ...events.map((event) => `    ${JSON.stringify(event)}`))
    const broken = brokenIn(world, expected)
    if (broken) lines.push(`BROKEN  ${broken.promise}: ${broken.problem}`)
  }
  lines.push(`may happen next: ${world.moves().join(' | ')}`)
  for (const { word, key, process, came } of world.journal.entries)
    lines.push(`executed: ${word} (${key}) in process ${process}: ${came ?? 'running'}`)
  lines.push(`result: ${JSON.stringify(world.place.result ?? String(world.place.error))}`)
  return lines.join('\n')
}
