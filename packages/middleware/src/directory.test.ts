import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call } from '@meanwhile/assemble/testing'
import { ConfigError } from '@meanwhile/core'
import { byTurns, propertyRuns, sized } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type HostileTree, hostileTree, SECRET } from '../test/hostile-tree.ts'
import { toolResults } from '../test/tool-results.ts'
import { type OpenFolder, openByDescriptor, openByPath } from './directory/folder.ts'
import { Directory, directoryBackend } from './directory.ts'
import type { FileBackend } from './file-backend.ts'
import { FileError } from './file-error.ts'
import { filesystem } from './filesystem.ts'

let tree: HostileTree
beforeEach(async () => void (tree = await hostileTree()))
afterEach(() => tree.remove())

const openers: readonly (readonly [string, OpenFolder])[] = [
  ['by descriptor', openByDescriptor],
  ['by path', openByPath],
]

const bytes = (text: string) => new TextEncoder().encode(text)

/** Each leads outside, or would on some system; `X` stands for the folder outside. */
const LEADING_OUT = [
  '..',
  '../',
  './..',
  '../outside/secret.txt',
  '../outside/new.txt',
  'sub/../../outside/secret.txt',
  'sub/deep/../../../outside/secret.txt',
  'nothing/../../outside/secret.txt',
  '../work/../outside/secret.txt',
  '../work-sibling/secret.txt',
  '../WORK/secret.txt',
  '../work/inside.txt',
  'X/secret.txt',
  '/X/secret.txt',
  '/etc/passwd',
  '/proc/self/root/etc/passwd',
  '/proc/self/cwd',
  'C:\\Windows\\win.ini',
  'C:/Windows/win.ini',
  'c:secret.txt',
  '..\\outside\\secret.txt',
  'sub\\..\\..\\outside\\secret.txt',
  '\\\\server\\share\\secret.txt',
  '../outside/secret.txt\0.png',
  'inside.txt\0/../../outside/secret.txt',
  '\0',
  'a\n/../../outside',
  '...',
  '.. /outside/secret.txt',
  '. ./outside/secret.txt',
  '..../outside',
  'link-file',
  'link-relative',
  'link-folder/secret.txt',
  'link-folder/new.txt',
  'link-folder/new/new.txt',
  'link-folder/vault/secret.txt',
  'sub/deep/link-up/secret.txt',
  'link-parent/outside/secret.txt',
  'link-parent/work/inside.txt',
  'link-root/etc/passwd',
  'link-inside/',
  'link-inside',
  'link-sub/inside.txt',
  'chain-1/secret.txt',
  'chain-1/new.txt',
  'chain-2/new/new.txt',
  'sub/chain-3/secret.txt',
  'file-chain-1',
  'file-chain-2',
  'link-to-come',
  'link-folder-to-come/new.txt',
  'loop',
  'loop/new.txt',
  'proc-root/secret.txt',
  'proc-root/new.txt',
  'proc-cwd/package.json',
  'proc-fd/0',
  'proc-environ',
  'link-sibling/secret.txt',
  'a/'.repeat(3_000),
] as const

/** Ordinary names on this system, in a folder that does not exist. */
const HARMLESS = [
  '%2e%2e/outside/secret.txt',
  '..%2foutside%2fsecret.txt',
  '．．/outside/secret.txt',
  '~/secret.txt',
  '$HOME/secret.txt',
  'file:/etc/passwd',
  '\u2025/outside/secret.txt',
  'LINK-FOLDER/secret.txt',
  'Sub/inside.txt',
  '__proto__/x.txt',
  'con',
  '-rf',
] as const

const pathOf = (path: string) => path.replace('X', tree.outside)

test.each(openers)('nothing outside is read, listed, written or created, %s (N40)', async (_, open) => {
  const before = await tree.state()
  const backend = new Directory(tree.root, open)
  for (const path of LEADING_OUT.map(pathOf)) {
    await expect(backend.read(path, { maxBytes: 1_000_000 }), `read ${path}`).rejects.toThrow()
    await expect(backend.list(path, { limit: 10 }), `list ${path}`).rejects.toThrow()
    await expect(backend.write(path, bytes('mine')), `write ${path}`).rejects.toThrow()
    await expect(backend.write(path, bytes('mine'), { replaces: null }), `make ${path}`).rejects.toThrow()
    const stat = await backend.stat(path).catch(() => undefined)
    expect(stat?.kind ?? 'other', `stat ${path}`).toBe('other')
  }
  for (const path of HARMLESS) {
    await expect(backend.read(path, { maxBytes: 1_000_000 }), `read ${path}`).rejects.toThrow()
    await backend.write(path, bytes('mine'))
    expect(new TextDecoder().decode((await backend.read(path, { maxBytes: 10 })).bytes)).toBe('mine')
  }
  expect(await tree.state()).toEqual(before)
  expect((await tree.contents()).join()).not.toContain('mine')
})

test('no tool leads a model outside: each hostile path is an error result, and nothing outside is touched (N40, N38)', async () => {
  const before = await tree.state()
  const middleware = [filesystem({ backend: directoryBackend(tree.root) })]
  const calls = LEADING_OUT.map(pathOf).flatMap((path, place) => {
    const asked = (name: string, more: object = {}) => call(name, { path, ...more }, { deltas: 1 })
    const ofPath = [
      asked('read_file'),
      asked('write_file', { content: 'mine' }),
      asked('edit_file', { oldText: SECRET, newText: 'mine' }),
      asked('ls'),
      asked('glob', { pattern: '**' }),
      asked('grep', { pattern: SECRET }),
    ]
    return byTurns(ofPath, { small: 2, middle: 3, whole: 6 }, 2 * place)
  })
  const { texts, messages } = await toolResults(middleware, [calls])
  expect(texts).toHaveLength(calls.length)
  expect(messages.filter(({ isError }) => !isError)).toEqual([])
  expect(texts.join('\n')).not.toContain(SECRET)
  expect(await tree.state()).toEqual(before)
})

test('patterns do not lead outside either: searching the whole root finds only what is inside (N40)', async () => {
  const before = await tree.state()
  await unlink(join(tree.root, 'hard.txt'))
  const middleware = [filesystem({ backend: directoryBackend(tree.root) })]
  const { texts } = await toolResults(middleware, [
    [
      call('glob', { pattern: '**' }),
      call('glob', { pattern: '../**' }),
      call('glob', { pattern: '/**' }),
      call('glob', { pattern: 'link-folder/**' }),
      call('glob', { pattern: '{..,link-folder}/*' }),
      call('grep', { pattern: SECRET }),
      call('grep', { pattern: 'inside', glob: '../../**' }),
      call('grep', { pattern: '.', output: 'count' }),
    ],
  ])
  const inside = ['inside.txt', 'sub/deep/inside.txt', 'sub/inside.txt']
  expect(texts[0]?.split('\n').sort()).toEqual(inside)
  expect(texts.slice(1, 7)).toEqual([
    ...Array.from({ length: 4 }, () => '(no file matches)'),
    '(nothing matches)',
    '(nothing matches)',
  ])
  expect(texts[7]).toBe(inside.map((file) => `${file}:1`).join('\n'))
  expect((await tree.state()).filter((line) => !line.startsWith('outside/vault/secret.txt'))).toEqual(
    before.filter((line) => !line.startsWith('outside/vault/secret.txt')),
  )
})

test('a list marks links and pipes as such, and nothing opens them (N40)', async () => {
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(tree.root, 'pipe')])
  const backend = directoryBackend(tree.root)
  const entries = await backend.list('', { limit: 100 })
  const kinds = new Map(entries.map(({ name, kind }) => [name, kind]))
  expect([
    kinds.get('link-file'),
    kinds.get('link-sub'),
    kinds.get('pipe'),
    kinds.get('sub'),
    kinds.get('hard.txt'),
  ]).toEqual(['other', 'other', 'other', 'folder', 'file'])
  await expect(backend.read('link-file', { maxBytes: 10 })).rejects.toThrow('is a link')
  await expect(backend.read('pipe', { maxBytes: 10 })).rejects.toMatchObject({ code: 'not-a-file' })
  await expect(backend.write('pipe', bytes(''))).rejects.toMatchObject({ code: 'not-a-file' })
})

test.each(openers)('writing over a hard link leaves the file outside unchanged, %s (N40)', async (_, open) => {
  await new Directory(tree.root, open).write('hard.txt', bytes('mine'))
  expect(await readFile(join(tree.root, 'hard.txt'), 'utf8')).toBe('mine')
  expect(await readFile(join(tree.outside, 'vault/secret.txt'), 'utf8')).toBe(SECRET)
})

/** Opens like `open`; calls `act` before the n-th operation, counted from 0, and `undo` before the next. */
function interrupted(open: OpenFolder, n: number, act: () => void, undo = () => {}): OpenFolder {
  let turn = 0
  const count = () => {
    if (turn === n) act()
    if (turn++ === n + 1) undo()
  }
  return async (root, segments, create) => {
    count()
    const folder = await open(root, segments, create)
    return {
      at(name) {
        count()
        return folder.at(name)
      },
      async check(opened) {
        count()
        await folder.check(opened)
        count()
      },
      close: () => folder.close(),
    }
  }
}

const swaps: readonly (readonly [string, () => void])[] = [
  [
    'its folder becomes a link',
    () => {
      renameSync(join(tree.root, 'sub'), join(tree.root, 'was-sub'))
      symlinkSync(tree.outside, join(tree.root, 'sub'))
    },
  ],
  [
    'its folder is moved out',
    () => {
      renameSync(join(tree.root, 'sub'), join(tree.root, '../moved'))
      mkdirSync(join(tree.root, 'sub'))
    },
  ],
  [
    'the root becomes a link',
    () => {
      renameSync(tree.root, join(tree.root, '../was-work'))
      symlinkSync(join(tree.outside, 'vault'), tree.root)
    },
  ],
  [
    'the file becomes a link',
    () => {
      renameSync(join(tree.root, 'sub/secret.txt'), join(tree.root, 'was.txt'))
      symlinkSync(join(tree.outside, 'secret.txt'), join(tree.root, 'sub/secret.txt'))
    },
  ],
]

/** In whole runs each of these tests takes every point, in others some of them, each test others. */
const STEP = sized({ small: 6, middle: 4, whole: 1 })
let first = 0

for (const [opening, open] of openers) {
  for (const [what, act] of swaps) {
    for (const method of ['read', 'write', 'list'] as const) {
      const from = first++ % STEP
      test(`${method} ${opening}: ${what} after the check, at any point, and nothing outside is read or changed (N40)`, async () => {
        let acted = true
        for (let point = from; acted; point += STEP) {
          await tree.remove()
          tree = await hostileTree()
          await writeFile(join(tree.root, 'sub/secret.txt'), 'harmless')
          const before = await tree.contents()
          acted = false
          const swapping = interrupted(open, point, () => {
            acted = true
            act()
          })
          const done = await attempt(new Directory(tree.root, swapping), method).catch((error: unknown) =>
            String(error),
          )
          expect(done, `point ${point}`).not.toContain(SECRET)
          expect(done, `point ${point}`).not.toContain('vault')
          // A folder that was moved out counts as outside now: it may have been written to when it was inside.
          const after = (await tree.contents()).filter((line) => !/^(moved|was-work)/.test(line))
          expect(after, `point ${point}`).toEqual(before)
        }
      })
    }
  }
}

test.each(openers)(
  'a folder that becomes a link and a folder again, at any point: nothing outside is read or changed, %s (N40)',
  async (_, open) => {
    const at = (name: string) => join(tree.root, name)
    for (const method of ['read', 'write', 'list'] as const) {
      let acted = true
      for (let point = first++ % STEP; acted; point += STEP) {
        await tree.remove()
        tree = await hostileTree()
        await writeFile(at('sub/secret.txt'), 'harmless')
        const before = await tree.contents()
        acted = false
        const swapping = interrupted(
          open,
          point,
          () => {
            acted = true
            renameSync(at('sub'), at('kept'))
            symlinkSync(tree.outside, at('sub'))
          },
          () => {
            // A write that found the name free may have created the folder.
            rmSync(at('sub'), { recursive: true, force: true })
            renameSync(at('kept'), at('sub'))
          },
        )
        const done = await attempt(new Directory(tree.root, swapping), method).catch((error: unknown) => String(error))
        expect(done, `point ${point}`).not.toContain(SECRET)
        // By path, names may be listed and an empty file created: nothing is written before its place is checked.
        if (open === openByDescriptor) expect(done).not.toContain('vault')
        const after = (await tree.contents()).filter((line) => open === openByDescriptor || !line.endsWith('.tmp: '))
        expect(after, `point ${point}`).toEqual(before)
      }
    }
  },
)

test.each(openers)(
  'if a folder is a link before the write begins, nothing at all is created outside, %s (N40)',
  async (_, open) => {
    const before = await tree.state()
    const swapping = interrupted(open, 1, () => {
      renameSync(join(tree.root, 'sub'), join(tree.root, 'was-sub'))
      symlinkSync(tree.outside, join(tree.root, 'sub'))
    })
    await expect(new Directory(tree.root, swapping).write('sub/new.txt', bytes('mine'))).rejects.toThrow(
      'leads elsewhere',
    )
    expect(await tree.state()).toEqual(before)
  },
)

test.each(openers)(
  'a folder moved out before the last check does not get the new content, %s (N40)',
  async (_, open) => {
    // The seventh operation of a write is the lookup of the existing file.
    const moving = interrupted(open, 7, () => renameSync(join(tree.root, 'sub'), join(tree.root, '../moved')))
    await expect(new Directory(tree.root, moving).write('sub/inside.txt', bytes('mine'))).rejects.toThrow()
    expect(await readFile(join(tree.root, '../moved/inside.txt'), 'utf8')).toBe('inside')
  },
)

const moves: readonly (readonly [string, () => void])[] = [
  ['is moved out of the root', () => renameSync(join(tree.root, 'sub'), join(tree.root, '../moved'))],
  [
    'is moved out of the root, and a link put in place of one above it',
    () => {
      renameSync(join(tree.root, 'sub'), join(tree.root, '../moved'))
      symlinkSync('../moved', join(tree.root, 'sub'))
    },
  ],
  [
    'still exists, and a folder above the root is a link',
    () => {
      renameSync(join(tree.root, '..'), join(tree.root, '../../moved'))
      symlinkSync('moved', join(tree.root, '..'))
    },
  ],
]

for (const [opening, open] of openers) {
  test.each(moves)(
    `once a folder that was opened ${opening} %s, nothing is done in it any more (N40)`,
    async (_, act) => {
      await tree.remove()
      for (const method of ['read', 'write', 'list', 'stat'] as const) {
        const above = await mkdtemp(join(tmpdir(), 'meanwhile-'))
        try {
          tree = await hostileTree(join(above, 'base'))
          const moving = interrupted(open, 1, act)
          const backend = new Directory(tree.root, moving)
          await expect(attempt(backend, method, 'sub/deep'), `${method}`).rejects.toMatchObject({ name: 'FileError' })
          const files = execFileSync('find', [above, '-name', '*.tmp', '-o', '-type', 'f', '-size', '4c'], {
            encoding: 'utf8',
          })
          expect(files).toBe('')
        } finally {
          await rm(above, { recursive: true })
        }
      }
    },
  )
}

type Method = 'read' | 'write' | 'list' | 'stat'

async function attempt(backend: FileBackend, method: Method, folder = 'sub'): Promise<string> {
  const path = `${folder}/secret.txt`
  if (method === 'list') return (await backend.list(folder, { limit: 10 })).map(({ name }) => name).join()
  if (method === 'write') return await backend.write(path, bytes('mine'))
  if (method === 'stat') {
    const found = await backend.stat(`${folder}/inside.txt`)
    if (!found) throw new FileError('not-found', path, 'is not there')
    return found.kind
  }
  return new TextDecoder().decode((await backend.read(path, { maxBytes: 1_000 })).bytes)
}

const ROUNDS = sized({ small: 30, middle: 60, whole: 3_000 })

test('while another process swaps a folder for a link as fast as possible, nothing outside is read or changed (N40)', async () => {
  await writeFile(join(tree.root, 'sub/secret.txt'), 'harmless')
  await symlink(tree.outside, join(tree.root, 'swap'))
  const before = await tree.state()
  const backend = directoryBackend(tree.root)
  const at = (name: string) => join(tree.root, name)
  /** A write may have created the folder again, and may still be running. */
  const put = async (from: string, to: string) => {
    for (;;) {
      try {
        return await rename(at(from), at(to))
      } catch (error) {
        if (!['EEXIST', 'EISDIR', 'ENOTEMPTY'].includes(codeOf(error))) throw error
        await rm(at(to), { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined)
      }
    }
  }
  let isOver = false
  let swapped = 0
  const swapping = (async () => {
    while (!isOver) {
      await put('sub', 'kept')
      await put('swap', 'sub')
      await put('sub', 'swap')
      await put('kept', 'sub')
      swapped++
    }
  })()
  const seen: string[] = []
  try {
    for (let n = 0; n < ROUNDS; n++) {
      seen.push(await attempt(backend, 'read').catch((error: Error) => error.name))
      seen.push(await attempt(backend, 'write').catch((error: Error) => error.name))
      seen.push(await attempt(backend, 'list').catch((error: Error) => error.name))
    }
  } finally {
    isOver = true
    await swapping
  }
  expect(swapped).toBeGreaterThan(0)
  expect(seen.filter((text) => text.includes(SECRET) || text.includes('vault'))).toEqual([])
  expect(await tree.state()).toEqual(before)
})

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

test('no path of any characters leads outside (N40)', async () => {
  const before = await tree.state()
  const backend = directoryBackend(tree.root)
  const part = fc.constantFrom(
    '..',
    '.',
    '',
    '...',
    'sub',
    'link-folder',
    'chain-1',
    'secret.txt',
    'proc-root',
    'outside',
    ' ',
    '\\',
    '\0',
  )
  const path = fc.array(fc.oneof(part, fc.string({ maxLength: 4 })), { maxLength: 6 }).map((parts) => parts.join('/'))
  await fc.assert(
    fc.asyncProperty(path, async (path) => {
      const read = await backend.read(path, { maxBytes: 1_000 }).catch(() => undefined)
      expect(new TextDecoder().decode(read?.bytes)).not.toContain(SECRET)
      await backend.write(path, bytes('mine')).catch(() => undefined)
      await backend.list(path, { limit: 5 }).catch(() => undefined)
    }),
    propertyRuns({ small: 15, middle: 24, whole: 5_000 }),
  )
  expect(await tree.state()).toEqual(before)
})

test('a name in another case is another name, or does not exist: it never bypasses a rule about names (N40)', async () => {
  const backend = directoryBackend(tree.root)
  for (const path of ['INSIDE.TXT', 'Inside.txt', 'SUB/inside.txt', 'sub/INSIDE.TXT']) {
    await expect(backend.read(path, { maxBytes: 10 })).rejects.toMatchObject({ name: 'FileError' })
  }
})

test('the path to the root may contain a link, and must be a directory that is not a whole file system (N40)', async () => {
  const link = join(tree.root, '../link-to-work')
  await symlink(tree.root, link)
  expect(new TextDecoder().decode((await directoryBackend(link).read('inside.txt', { maxBytes: 10 })).bytes)).toBe(
    'inside',
  )
  for (const root of ['/', join(tree.root, 'inside.txt'), join(tree.root, 'nothing')]) {
    expect(() => directoryBackend(root)).toThrow(ConfigError)
  }
})

test('if a file grows while it is read, no more than allowed is kept (N36)', async () => {
  const path = join(tree.root, 'log.txt')
  await writeFile(path, '12345')
  const backend = new Directory(
    tree.root,
    interrupted(openByDescriptor, 3, () => writeFileSync(path, 'x'.repeat(1_000))),
  )
  await expect(backend.read('log.txt', { maxBytes: 100 })).rejects.toMatchObject({ code: 'too-large' })
})

test('a write keeps the mode of the replaced file, and leaves no temporary file, whether it succeeds or fails', async () => {
  const backend = directoryBackend(tree.root)
  await chmod(join(tree.root, 'inside.txt'), 0o750)
  await backend.write('inside.txt', bytes('new'))
  expect((await stat(join(tree.root, 'inside.txt'))).mode & 0o777).toBe(0o750)
  await expect(backend.write('inside.txt', bytes('newer'), { replaces: null })).rejects.toThrow()
  await expect(backend.write('sub/new.txt', bytes(''), { signal: AbortSignal.abort() })).rejects.toThrow('abort')
  const names = [...(await readdir(tree.root)), ...(await readdir(join(tree.root, 'sub')))]
  expect(names.filter((name) => name.includes('.tmp') || name === 'new.txt')).toEqual([])
})

test('no descriptor stays open, whether the operation succeeds or fails', async () => {
  const backend = directoryBackend(tree.root)
  const open = () =>
    readdir('/proc/self/fd').then(
      (names) => names.length,
      () => 0,
    )
  const before = await open()
  for (const path of [...LEADING_OUT.map(pathOf), 'inside.txt', 'sub/deep/inside.txt', 'sub']) {
    await backend.read(path, { maxBytes: 1_000 }).catch(() => undefined)
    await backend.write(path, bytes('mine')).catch(() => undefined)
    await backend.list(path, { limit: 1 }).catch(() => undefined)
    await backend.stat(path).catch(() => undefined)
  }
  expect(await open()).toBe(before)
})

test('everything for browsers is free of Node: only the subpath imports it', () => {
  const sources = execFileSync('grep', ['-rlE', "from 'node:", 'src', '--include=*.ts', '--exclude=*.test.ts'], {
    cwd: join(import.meta.dirname, '..'),
    encoding: 'utf8',
  })
  expect(sources.trim().split('\n').sort()).toEqual(['src/directory.ts', 'src/directory/folder.ts'])
})
