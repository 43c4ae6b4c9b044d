import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Mutable, mutableOf } from './mutable.ts'
import { programOf } from './sources.ts'

test('fields of classes are state unless they are readonly', async () => {
  const { fields } = await mutableIn(`
    class One {
      static made = 0
      readonly name = 'one'
      #count = 0
      open?: boolean
      get next(): number { return this.#count }
    }
  `)
  expect(fields).toEqual(['3: static made = 0', '5: #count = 0', '6: open?: boolean'])
})

test('members of other types and of object literals are state if a statement assigns or deletes them, and count once each', async () => {
  const { members } = await mutableIn(`
    interface Call { id: string; ended?: number; lag?: number; left: number; next: Call; own: string }
    type Asked = { over: boolean; by: string }
    const counts = { made: 0, kept: 0 }
    export function change(call: Call, asked: Asked, rest: Call[]): void {
      call.ended = 1
      call.ended = 2
      delete call.lag
      call.next!.left--;
      [asked.over] = [true]
      ;({ id: call.own } = call)
      for (counts.made of [1, 2]) rest.pop()
      const other = { a: 1 }
      Object.assign(other, { a: 2, b: 3 })
    }
  `)
  expect(members.map((place) => place.replace(/^\d+: /, ''))).toEqual([
    'ended?: number;',
    'lag?: number;',
    'left: number;',
    'own: string',
    'over: boolean;',
    'made: 0',
    'a: 1',
  ])
})

test('a container is state if its type allows changes: a readonly field always, a member or an outliving const if a statement changes it', async () => {
  const { containers, fields } = await mutableIn(`
    interface Step { readonly calls: string[]; readonly left: string[]; readonly seen: ReadonlySet<string> }
    const NAMES = ['a', 'b']
    const known = new WeakMap<object, string>()
    const table: Record<string, number> = {}
    class One {
      readonly all = new Map<string, string>()
      readonly fixed: ReadonlyMap<string, string> = new Map()
      readonly pair: readonly [number, number] = [1, 2]
      readonly bytes: Uint8Array | undefined
      queue: string[] = []
    }
    export function change(step: Step, one: One): string[] {
      step.calls.push('a')
      known.set(one, 'one')
      table.b = 2
      one.queue.pop()
      const own: string[] = []
      own.push(...NAMES)
      const heard: string[] = []
      own.forEach((name) => heard.push(name))
      return heard
    }
  `)
  expect(containers).toEqual([
    '2: readonly calls: string[];',
    '4: known = new WeakMap<object, string>()',
    '5: table: Record<string, number> = {}',
    '7: readonly all = new Map<string, string>()',
    '10: readonly bytes: Uint8Array | undefined',
    '20: heard: string[] = []',
  ])
  // One place of state is counted once.
  expect(fields).toEqual(['11: queue: string[] = []'])
})

test('a name in a pattern is the member that it takes', async () => {
  const { containers } = await mutableIn(`
    interface Step { readonly calls: string[]; readonly left: string[] }
    export function change({ calls, left: open }: Step): () => void {
      return () => {
        calls[0] = 'a'
        open.length = 0
      }
    }
  `)
  expect(containers).toEqual(['2: readonly calls: string[];', '2: readonly left: string[]'])
})

test('a variable is state if it can be assigned and outlives the call that declares it', async () => {
  const { variables } = await mutableIn(`
    let latest = 0
    export function make(): { next(): number; again: () => number } {
      let own = 0
      let shared = 0
      var old = 0
      let [first, second] = [1, 2]
      const fixed = 5
      own += fixed
      return { next: () => (shared += old + second), again: () => latest + own + first }
    }
    export function local(): number {
      let sum = 0
      for (let at = 0; at < 3; at++) sum += at
      return sum
    }
    export function handed(): object {
      let value = 1
      return { get: () => ({ value }) }
    }
  `)
  expect(variables).toEqual([
    '2: latest = 0',
    '4: own = 0',
    '5: shared = 0',
    '6: old = 0',
    '7: first',
    '7: second',
    '18: value = 1',
  ])
})

/** Without the name of the file. */
async function mutableIn(source: string): Promise<Mutable> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-mutable-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'code.ts')
  await writeFile(file, source)
  const { fields, members, containers, variables } = mutableOf(programOf([file]), [file], folder)
  const bare = (places: readonly string[]): readonly string[] => places.map((place) => place.replace('code.ts:', ''))
  return { fields: bare(fields), members: bare(members), containers: bare(containers), variables: bare(variables) }
}
