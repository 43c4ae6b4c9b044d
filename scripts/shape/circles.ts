/** Finds import cycles: groups of files in which each file imports each other one, directly or through others. */

import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import ts from 'typescript'

/** The largest first. An import of types counts like any other: to understand a file one has to know what it imports. */
export function circlesIn(files: readonly string[]): readonly (readonly string[])[] {
  const known = new Set(files.map((file) => resolve(file)))
  const imports = new Map([...known].map((file) => [file, importsOf(file).filter((other) => known.has(other))]))
  return circlesOf(imports).toSorted((a, b) => b.length - a.length)
}

/** The files that a file imports by a relative path, in any syntax: `import`, `import type`, `export … from`, `import()`. */
function importsOf(file: string): readonly string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'))
  return importedFiles
    .filter(({ fileName }) => fileName.startsWith('.'))
    .map(({ fileName }) => resolve(dirname(file), fileName))
}

/** The strongly connected components of more than one node, by Tarjan's algorithm. */
export function circlesOf<Node>(edges: ReadonlyMap<Node, readonly Node[]>): readonly (readonly Node[])[] {
  const circles: Node[][] = []
  const order = new Map<Node, number>()
  const path: Node[] = []

  /** Returns the earliest node on the path that can be reached from this one. */
  function visit(node: Node): number {
    const own = order.size
    order.set(node, own)
    const place = path.push(node) - 1
    let earliest = own
    for (const next of edges.get(node) ?? []) {
      const met = order.get(next)
      if (met === undefined) earliest = Math.min(earliest, visit(next))
      else if (path.includes(next)) earliest = Math.min(earliest, met)
    }
    if (earliest === own) {
      const circle = path.splice(place)
      if (circle.length > 1) circles.push(circle)
    }
    return earliest
  }

  for (const node of edges.keys()) if (!order.has(node)) visit(node)
  return circles
}
