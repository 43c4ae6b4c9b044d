// Checks docs/events.md: it must have one row for each event of a run, with the members of the type `AgentEvent`.
import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { programOf } from './shape/sources.ts'

const PAGE = 'docs/events.md'
const SOURCE = 'packages/core/src/vocabulary/events.ts'

const FORMAT = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope

/** The members of an event as code, such as `step?: number`. */
type Members = readonly string[]

const documented = eventsOfPage(readFileSync(PAGE, 'utf8'))
const declared = eventsOfType()
const faults = [...new Set([...declared.keys(), ...documented.keys()])].flatMap(faultsOf)
for (const fault of faults) console.error(`${PAGE}: ${fault}`)
if (faults.length > 0) process.exitCode = 1

function faultsOf(event: string): readonly string[] {
  const rows = documented.get(event) ?? []
  const members = declared.get(event)
  if (!members) return [`${SOURCE} has no event \`${event}\``]
  if (rows.length !== 1) return [`\`${event}\` has ${rows.length} rows`]
  const row = rows.flat()
  return [
    ...members.filter((member) => !row.includes(member)).map((member) => `\`${event}\` lacks \`${member}\``),
    ...row.filter((member) => !members.includes(member)).map((member) => `\`${event}\` has no \`${member}\``),
  ]
}

/** The rows of each event. The first table has the members of all events; the sentence `Every event in this table has …` adds some. */
function eventsOfPage(page: string): ReadonlyMap<string, readonly Members[]> {
  const [top = '', ...sections] = page.split(/^## /m)
  const ofAll = rowsOf(top)
    .map(([name = '', type = '']) => `${codesIn(name)[0]}: ${codesIn(type)[0]}`)
    .filter((member) => !member.startsWith('type:'))
  const events = new Map<string, Members[]>()
  for (const section of sections) {
    const ofSection = codesIn(section.match(/^Every event in this table has (.+)$/m)?.[1] ?? '')
    if (!section.includes('\n| `type` |')) continue
    for (const [type = '', members = ''] of rowsOf(section)) {
      const [event = ''] = codesIn(type)
      events.set(event, [...(events.get(event) ?? []), [...ofAll, ...ofSection, ...codesIn(members)].map(normal)])
    }
  }
  return events
}

/** The cells of all rows of a text, without the heads of its tables. */
function rowsOf(text: string): readonly (readonly string[])[] {
  const rows = [...text.matchAll(/^\|-.*\n((?:\|.*\n?)*)/gm)].flatMap(([, body = '']) => body.trim().split('\n'))
  return rows.map((row) => row.split(/(?<!\\)\|/).slice(1, -1))
}

function codesIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
}

function eventsOfType(): ReadonlyMap<string, Members> {
  const program = programOf([SOURCE])
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(SOURCE)
  const alias = file?.statements.filter(ts.isTypeAliasDeclaration).find(({ name }) => name.text === 'AgentEvent')
  if (!alias) throw new Error(`${SOURCE} has no type AgentEvent`)
  const type = checker.getTypeAtLocation(alias)
  const events = new Map<string, Members>()
  for (const event of type.isUnion() ? type.types : [type]) {
    const members = checker.getPropertiesOfType(event).map((member) => {
      const text = checker.typeToString(checker.getTypeOfSymbol(member), alias, FORMAT)
      return { name: member.name, code: `${member.name}${member.flags & ts.SymbolFlags.Optional ? '?' : ''}: ${text}` }
    })
    const name = members.find((member) => member.name === 'type')?.code ?? ''
    for (const [, literal = ''] of name.matchAll(/"([^"]+)"/g)) {
      if (events.has(literal)) throw new Error(`${SOURCE} declares the event ${literal} twice`)
      const own = members.filter((member) => member.name !== 'type')
      events.set(
        literal,
        own.map(({ code }) => normal(code)),
      )
    }
  }
  return events
}

/** The same for both ways to write a member. */
function normal(member: string): string {
  const [, name = '', type = ''] = member.match(/^([^:]+): (.*)$/s) ?? [undefined, member]
  const plain = type
    .replaceAll('\\|', '|')
    .replaceAll('readonly ', '')
    .replaceAll('"', "'")
    .replaceAll('; }', ' }')
    .replaceAll(';', ',')
    .replace(/^Readonly<(.*)>$/, '$1')
  const parts = plain.split(' | ').filter((part) => part !== 'undefined')
  return `${name}: ${parts.sort().join(' | ')}`
}
