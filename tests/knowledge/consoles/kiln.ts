import yargs, { type Argv } from 'yargs';
import { hideBin } from 'yargs/helpers';

const fire = {
  command: 'fire <program>',
  aliases: ['burn'],
  describe: 'Fire the kiln',
  builder: (y: Argv) =>
    y
      .positional('program', { describe: 'which curve', choices: ['bisque', 'glaze'] })
      .option('peak', { alias: 'p', type: 'number', describe: 'peak in °C', demandOption: true })
      .option('hold', { type: 'boolean', describe: 'hold at the peak' }),
  handler: async () => {},
};

const clay = (y: Argv) =>
  y
    .command('weigh <kilos>', 'Weigh clay', {}, () => {})
    .command(['mix [recipe]', 'blend'], 'Mix clay', { dry: { type: 'boolean' }, water: { alias: 'w' } }, () => {})
    .demandCommand(1);

void yargs(hideBin(process.argv))
  .scriptName('kiln')
  .option('verbose', { type: 'count', alias: 'v' })
  .command(fire)
  .command('clay', 'Clay and recipes', clay)
  .command('status', 'Show the kiln', (y) => y, () => console.log('usage: kiln melt --all'))
  .help()
  .parse();
