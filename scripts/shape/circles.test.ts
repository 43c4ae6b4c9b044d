import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { circlesIn, circlesOf } from './circles.ts'
import { sourcesIn } from './sources.ts'

test('files that import one another are a cycle, also by types only, and in every syntax', async () => {
  const circles = await circlesAmong({
    'a.ts': `import { b } from './b.ts'\nexport const a = b`,
    'b.ts': `import type { C } from './c.ts'\nexport const b = (c: C): C => c`,
    'c.ts': `export type C = import('./a.ts').A\n`,
    'd.ts': `export * from './e.ts'`,
    'e.ts': `export const e = async () => await import('./d.ts')`,
    'end.ts': `import './a.ts'\nimport './d.ts'\nimport 'node:fs'`,
  })
  expect(circles).toEqual([
    ['a.ts', 'b.ts', 'c.ts'],
    ['d.ts', 'e.ts'],
  ])
})

test('a test is not a source, and its imports make no cycle', async () => {
  const circles = await circlesAmong({
    'a.ts': `import type { B } from './b.test.ts'\nexport type A = B`,
    'b.test.ts': `import type { A } from './a.ts'\nexport type B = A`,
  })
  expect(circles).toEqual([])
})

test('two nodes of any graph are in one cycle if each can be reached from the other', () => {
  const node = fc.nat(7)
  fc.assert(
    fc.property(fc.array(fc.tuple(node, node)), (pairs) => {
      const nodes = Array.from({ length: 8 }, (_, one) => one)
      const edges = new Map(nodes.map((from) => [from, pairs.filter(([one]) => one === from).map(([, to]) => to)]))
      const circles = circlesOf(edges)
      for (const a of nodes) {
        for (const b of nodes.filter((other) => other !== a)) {
          const together = circles.some((circle) => circle.includes(a) && circle.includes(b))
          expect(together).toBe(reaches(edges, a, b) && reaches(edges, b, a))
        }
      }
      expect(circles.flat()).toHaveLength(new Set(circles.flat()).size)
    }),
  )
})

function reaches(edges: ReadonlyMap<number, readonly number[]>, from: number, to: number): boolean {
  const seen = new Set([from])
  for (const node of seen) for (const next of edges.get(node) ?? []) seen.add(next)
  return seen.has(to)
}

async function circlesAmong(files: Readonly<Record<string, string>>): Promise<readonly (readonly string[])[]> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-circles-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return circlesIn(sourcesIn(folder)).map((circle) => circle.map((file) => basename(file)).sort())
}
