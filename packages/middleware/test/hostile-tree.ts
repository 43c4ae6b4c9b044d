/** Creates a root with every kind of trap in it, and next to it a tree that must not be touched. */

import {
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The content of every file outside. */
export const SECRET = 'swordfish'

export interface HostileTree {
  readonly root: string
  readonly outside: string
  /**
   * What the file system reports about everything outside: each name with its kind, size, inode, links, and times of
   * change and access.
   */
  state(): Promise<readonly string[]>
  /** The names and contents of everything outside. */
  contents(): Promise<readonly string[]>
  remove(): Promise<void>
}

export async function hostileTree(base?: string): Promise<HostileTree> {
  return await treeIn(base ?? (await mkdtemp(join(tmpdir(), 'meanwhile-'))))
}

async function treeIn(path: string): Promise<HostileTree> {
  await mkdir(path, { recursive: true })
  const base = await realpath(path)
  const root = join(base, 'work')
  const outside = join(base, 'outside')
  for (const folder of ['work/sub/deep', 'outside/vault', 'work-sibling', 'WORK'])
    await mkdir(join(base, folder), { recursive: true })
  for (const file of ['outside/secret.txt', 'outside/vault/secret.txt', 'work-sibling/secret.txt', 'WORK/secret.txt']) {
    await writeFile(join(base, file), SECRET)
  }
  for (const file of ['inside.txt', 'sub/inside.txt', 'sub/deep/inside.txt'])
    await writeFile(join(root, file), 'inside')
  const links: Readonly<Record<string, string>> = {
    'link-file': join(outside, 'secret.txt'),
    'link-relative': '../outside/secret.txt',
    'link-folder': outside,
    'sub/deep/link-up': '../../../outside',
    'link-parent': '..',
    'link-root': '/',
    'link-inside': 'inside.txt',
    'link-sub': 'sub',
    'chain-1': 'chain-2',
    'chain-2': 'sub/chain-3',
    'sub/chain-3': '../link-folder',
    'file-chain-1': 'file-chain-2',
    'file-chain-2': 'link-file',
    'link-to-come': join(outside, 'to-come.txt'),
    'link-folder-to-come': join(outside, 'to-come'),
    loop: 'loop',
    'proc-root': `/proc/self/root${outside}`,
    'proc-cwd': '/proc/self/cwd',
    'proc-fd': '/proc/self/fd',
    'proc-environ': '/proc/self/environ',
    'link-sibling': '../work-sibling',
  }
  for (const [name, target] of Object.entries(links)) await symlink(target, join(root, name))
  await link(join(outside, 'vault/secret.txt'), join(root, 'hard.txt'))

  const others = (await readdir(base)).filter((name) => name !== 'work')
  const paths = async () =>
    (
      await Promise.all(
        others.map(async (name) => [
          name,
          ...(await readdir(join(base, name), { recursive: true })).map((below) => join(name, below)),
        ]),
      )
    )
      .flat()
      .sort()
  const contents = async () => {
    const kept: string[] = []
    for (const path of await paths()) {
      const isFolder = (await lstat(join(base, path))).isDirectory()
      kept.push(isFolder ? path : `${path}: ${await readFile(join(base, path), 'utf8')}`)
    }
    return kept
  }
  const state = async () => {
    const known: string[] = []
    for (const path of await paths()) {
      const { mode, size, ino, nlink, mtimeNs, ctimeNs, atimeNs } = await lstat(join(base, path), { bigint: true })
      const read = mode & 0o040000n ? '' : ` ${atimeNs}`
      known.push(`${path} ${mode} ${size} ${ino} ${nlink} ${mtimeNs} ${ctimeNs}${read}`)
    }
    return known
  }
  await contents()
  // A time long ago, so that a file system that records access times records the next access.
  for (const path of await paths()) await utimes(join(base, path), 1_000_000, 2_000_000)
  return { root, outside, state, contents, remove: () => rm(base, { recursive: true, force: true }) }
}
