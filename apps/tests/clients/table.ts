/** The table of clients and features, for a page of the documentation. */

import { CLIENTS } from './clients.ts'
import { FEATURES } from './features.ts'

/** `working`: the features of each client whose trial has passed. What was not tried is empty. */
export function tableOf(working: ReadonlyMap<string, ReadonlySet<string>>): string {
  const names = Object.keys(CLIENTS)
  const notes: string[] = []
  const cell = (name: string, feature: string) => {
    const limit = CLIENTS[name]?.limits?.[feature]
    if (!limit) return working.get(name)?.has(feature) ? 'works' : ''
    const note = `[${limit[0]}](${limit[1]})`
    if (!notes.includes(note)) notes.push(note)
    return `no (${notes.indexOf(note) + 1})`
  }
  const rows = Object.keys(FEATURES).map((feature) => [feature, ...names.map((name) => cell(name, feature))])
  const lines = [['feature', ...names], ['---', ...names.map(() => '---')], ...rows]
  return [
    `Tried on ${new Date().toISOString().slice(0, 10)}.`,
    lines.map((line) => `| ${line.join(' | ')} |`).join('\n'),
    notes.map((note, index) => `${index + 1}. ${note}.`).join('\n'),
  ].join('\n\n')
}
