// SPDX-License-Identifier: BSL-1.0
// A page for each file and folder that a page links to.
import fs from 'node:fs'
import path from 'node:path'
import { fileOf, linkTargets, pageOf, top } from '../repository.mjs'

const languages = { '.hpp': 'cpp', '.cpp': 'cpp', '.ld': 'txt', '.cmake': 'cmake', '.yml': 'yaml', '.json': 'json', '.py': 'python',
  '.sh': 'sh', '.md': 'md', '.toml': 'toml' }

function language(file, text) {
  const name = path.basename(file)
  if (name === 'CMakeLists.txt') return 'cmake'
  if (name === 'Dockerfile') return 'docker'
  if (languages[path.extname(name)]) return languages[path.extname(name)]
  if (/^#!.*python/.test(text)) return 'python'
  return /^#!/.test(text) ? 'sh' : 'txt'
}

/// A folder lists what it has, and links what has a page of its own.
function listing(folder, shown) {
  const names = fs.readdirSync(path.join(top, folder)).filter((name) => !/^\.|^(build|node_modules|__pycache__)$/.test(name)).sort()
  const items = names.map((name) => shown.has(path.join(folder, name)) ? `- [${name}](${path.basename(folder)}/${name})` : `- ${name}`)
  return `# ${folder}\n\n${items.join('\n')}\n`
}

function content(file, shown) {
  const whole = path.join(top, file)
  if (fs.statSync(whole).isDirectory()) return listing(file, shown)
  const text = fs.readFileSync(whole, 'utf8')
  if (file.endsWith('.md')) return text
  // A fence longer than any in the text
  return `---\noutline: false\n---\n\n# ${file}\n\n\`\`\`\`\`\`${language(file, text)}\n${text.trimEnd()}\n\`\`\`\`\`\`\n`
}

export default {
  paths() {
    const waiting = ['README.md', 'README.ko.md', 'CHANGELOG.md', 'docs/site/index.md',
      ...fs.readdirSync(path.join(top, 'docs')).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]
    const done = new Set(waiting)
    while (waiting.length > 0) {
      const file = waiting.pop()
      if (!file.endsWith('.md')) continue
      for (const target of linkTargets(fs.readFileSync(path.join(top, file), 'utf8'))) {
        const found = fileOf(target, file)
        if (!found || done.has(found)) continue
        done.add(found)
        waiting.push(found)
      }
    }
    const shown = [...done].filter((file) => !pageOf(file))
    return shown.map((file) => ({ params: { file: file.replace(/\.md$/, '') }, content: content(file, done) }))
  },
}
