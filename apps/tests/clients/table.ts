/** The page of the documentation with the table of clients and features. */

import { CLIENTS } from './clients.ts'
import { FEATURES } from './features.ts'

export const PAGE: string = new URL('../../../docs/chat-clients.md', import.meta.url).pathname

const INTRODUCTION = `# What clients of chats can do

Written by \`npm run test:clients -- -u\`; do not edit it. Each cell was tried with the client itself, in Chromium if it has a page: afterwards it shows what the thread has, and the model has read
the same. How to set these clients up: [clients that you do not write](chat-ui.md#clients-that-you-do-not-write).`

/** `working`: the features of each client whose trial has passed. */
export function pageOf(working: ReadonlyMap<string, ReadonlySet<string>>): string {
  const names = Object.keys(CLIENTS)
  const notes: string[] = []
  const cell = (name: string, feature: string) => {
    const limit = CLIENTS[name]?.limits?.[feature]
    if (!limit) return working.get(name)?.has(feature) ? 'works' : '**does not work**'
    const note = `[${limit[0]}](${limit[1]})`
    if (!notes.includes(note)) notes.push(note)
    return `no (${notes.indexOf(note) + 1})`
  }
  const rows = Object.keys(FEATURES).map((feature) => [feature, ...names.map((name) => cell(name, feature))])
  const lines = [['feature', ...names], ['---', ...names.map(() => '---')], ...rows]
  const table = lines.map((line) => `| ${line.join(' | ')} |`).join('\n')
  return `${INTRODUCTION}\n\n${table}\n\n${notes.map((note, index) => `${index + 1}. ${note}.`).join('\n')}\n`
}
