/** The tables of docs/guards.md about protection, as text. */

import { CONTENT, type Content, type Masks, PROTECTION, type Row } from './protection.ts'

const KINDS = Object.keys(CONTENT) as Content[]

export function pageTables(): readonly string[] {
  return [eventTable(), contentTable()]
}

function eventTable(): string {
  const rows = Object.entries(PROTECTION).map(([type, { own, held }]: [string, Row]) => {
    const listed = (masks: Masks) =>
      KINDS.filter((content) => own[content] === masks).map((content) => CONTENT[content].is)
    const cells = [listed('redact'), listed('persist'), listed('never')].map((list) => list.join(', '))
    return [`\`${type}\``, ...cells, held ? 'yes' : '']
  })
  return tableOf(['event', '`redact` masks', '`persist` also masks', 'not masked', 'held'], rows)
}

function contentTable(): string {
  const rows = KINDS.map((content) => {
    const { is, limit, spans } = CONTENT[content]
    return [is, LIMITS[limit], spans ? 'yes' : '']
  })
  return tableOf(['content', 'limit', 'in spans, with `captureContent`'], rows)
}

const LIMITS = {
  none: '',
  always: 'its beginning',
  inputLimits: '`inputLimits`',
  outputLimits: '`outputLimits`',
} as const

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return lines.join('\n')
}
