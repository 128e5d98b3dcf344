// SPDX-License-Identifier: BSL-1.0
// A page for each public name, as pages.py has written them.
import fs from 'node:fs'
import path from 'node:path'
import { referenceFolder } from '../repository.mjs'

export default {
  paths() {
    if (!referenceFolder) return []
    return fs.readdirSync(referenceFolder).filter((file) => file.endsWith('.md'))
      .map((file) => ({ params: { name: file.replace(/\.md$/, '') }, content: fs.readFileSync(path.join(referenceFolder, file), 'utf8') }))
  },
}
