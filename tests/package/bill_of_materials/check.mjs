// SPDX-License-Identifier: BSL-1.0
// Is this a bill of materials of that version and archive? check.mjs FILE VERSION ARCHIVE
// The library of CycloneDX checks it against the format's schema.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'

const [file, version, archive] = process.argv.slice(2)
const text = readFileSync(file, 'utf8')
const wrong = []

// A validator that accepts everything would not be one.
const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)
if (await validator.validate(text.replace('"library"', '"librarian"')) === null) wrong.push('the validator accepts a wrong type')
const objections = await validator.validate(text)
if (objections !== null) wrong.push(JSON.stringify(objections, null, 2))

const { component } = JSON.parse(text).metadata
if (component.version !== version) wrong.push(`it is of the version ${component.version}`)
const digest = createHash('sha256').update(readFileSync(archive)).digest('hex')
if (component.hashes[0].content !== digest) wrong.push('it is of another archive')

for (const each of wrong) console.error(each)
process.exit(wrong.length > 0 ? 1 : 0)
