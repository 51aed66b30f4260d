#!/usr/bin/env node
import { Command, Option } from '@commander-js/extra-typings';
import { readFileSync } from 'node:fs';
import { backupCommand } from './backup';
import chalk from 'chalk';

const pkg = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const program = new Command();

program
  .name('harbour')
  .description('Keeps the harbour')
  .version(pkg.version, '-v, --version', 'print the version')
  .option('--profile <name>', 'profile of the configuration', 'default');

// ---------------------------------------------------------------- berths
const berths = program.command('berths').alias('b').description('Berths and who lies there');

berths
  .command('list')
  .aliases(['ls', 'l'])
  .description('List berths')
  .option('-f, --format <kind>', 'how to print', 'table')
  .option('--no-color', 'plain text')
  .action(async (options) => {
    console.log(chalk.green('$ harbour berths frobnicate'));
    if (options.format === 'json') console.log('--format json');
  });

berths
  .command('assign <berth> [ships...]')
  .description('Assign a berth')
  .requiredOption('-u, --until <date>', 'last day')
  .action((berth: string, ships: string[]) => void [berth, ships]);

function registerPilots(parent: Command) {
  const pilots = parent.command('pilots').description('Pilots on duty');
  pilots.command('call').argument('<pilot>', 'who').action(() => {});
  pilots
    .command('exec')
    .allowUnknownOption()
    .argument('[args...]')
    .action(() => {});
}
registerPilots(program);

const makeTides = () => {
  const tides = new Command('tides').description('Tides');
  tides.command('today').action(() => {});
  return tides;
};
const charts = new Command('charts').description('Charts');
charts.command('print <sheet>').action(() => {});
program.addCommand(charts);

program.command('serve|s [port]', { hidden: true }).description('Serve').action(() => {});
program.addCommand(makeTides(), { hidden: true });
EXTERNAL
program.parseAsync(process.argv);
