/** The list of a server's tools, page by page: one bad tool must not cost the others. */

import { isRecord } from '@meanwhile/core/calls'
import type { StandardSchemaV1 } from '@modelcontextprotocol/client'
import type { Connection } from './connection.ts'
import { type McpDefinition, readDefinition } from './definition.ts'
import { McpLimitError } from './errors.ts'
import { schemaProblem } from './input-schema.ts'
import type { FullLimits } from './options.ts'

/** The tools of a server, and why others are left out. */
export interface Listing {
  readonly tools: readonly McpDefinition[]
  readonly problems: readonly string[]
}

interface Page {
  readonly tools: readonly unknown[]
  readonly nextCursor?: string
}

/** The client's own schema rejects the whole page for one tool. */
const PAGE: StandardSchemaV1<unknown, Page> = {
  '~standard': {
    version: 1,
    vendor: 'meanwhile',
    validate(value) {
      if (!isRecord(value) || !Array.isArray(value.tools)) return { issues: [{ message: 'has no list of tools' }] }
      const { tools, nextCursor } = value
      return { value: { tools, ...(typeof nextCursor === 'string' && { nextCursor }) } }
    },
  },
}

/** @throws {McpLimitError} The server has more tools than the limit, or its pages do not end. */
export async function listTools({ client }: Connection, server: string, limits: FullLimits): Promise<Listing> {
  const tools: McpDefinition[] = []
  const problems: string[] = []
  const cursors = new Set<string>()
  if (!client.getServerCapabilities()?.tools) return { tools, problems }
  for (let cursor: string | undefined; ; ) {
    const page = await client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, PAGE)
    if (tools.length + problems.length + page.tools.length > limits.tools)
      throw new McpLimitError(server, `it has more than ${limits.tools} tools`)
    for (const raw of page.tools) {
      const definition = readDefinition(raw)
      const problem = typeof definition === 'string' ? definition : problemOf(definition, limits)
      if (typeof definition !== 'string' && problem === undefined) tools.push(definition)
      else problems.push(`${server}: its tool ${nameOf(raw)} is left out: ${problem}`)
    }
    cursor = page.nextCursor
    if (cursor === undefined) return { tools, problems }
    if (cursors.has(cursor) || cursors.size >= limits.tools)
      throw new McpLimitError(server, 'the pages of its list of tools do not end')
    cursors.add(cursor)
  }
}

function problemOf({ inputSchema, outputSchema }: McpDefinition, limits: FullLimits): string | undefined {
  return schemaProblem(inputSchema, limits) ?? (outputSchema && schemaProblem(outputSchema, limits))
}

function nameOf(raw: unknown): string {
  return isRecord(raw) && typeof raw.name === 'string' ? JSON.stringify(raw.name.slice(0, 100)) : 'without a name'
}
