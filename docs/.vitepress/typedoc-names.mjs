/** A plug-in for typedoc: a module has the name under which it is imported, not that of its file. */

import { Converter } from 'typedoc'

export function load({ converter }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? []) {
      module.name = module.name.replace(/^packages\/([^/]+)\/src/, '@meanwhile/$1')
    }
  })
}
