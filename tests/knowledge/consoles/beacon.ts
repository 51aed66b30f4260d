/** A lighthouse's console: chains of conditions on the beginning of the line, and a prompt that echoes it. */
import { radio, screen } from './beacon-radio';

class Beacon {
  private log: string[] = [];

  constructor(private readonly keeper: string) {}

  async run(line: string): Promise<void> {
    this.log.push(`beacon> ${line}`);
    screen.write(`$ ${line}`);
    const words = line.trim().split(/\s+/);
    if (words[0] === 'lamp') {
      await this.lamp(words.slice(1));
    } else if (words[0] === 'horn') {
      await this.horn(words.slice(1));
    } else if (words[0] === 'fog' || words[0] === 'mist') {
      await radio.post('/fog', { level: words[1] });
    } else if (words[0] === 'ships') {
      await this.ships(words[1], words.slice(2));
    } else {
      screen.write(`running ${line} is not possible`);
    }
  }

  private async lamp(args: string[]): Promise<void> {
    // Prints the help as well: on -- off -- dim.
    if (args[0] === 'on') {
      await radio.post('/lamp', { on: true });
      return;
    }
    if (args[0] === 'off') {
      await radio.post('/lamp', { on: false });
      return;
    }
    if (args[0] === 'dim') {
      const level = args.slice(1).find((each) => !each.startsWith('-'));
      await radio.post('/lamp', { level });
      return;
    }
    screen.write('Usage: lamp <on|off|dim> -- see the manual');
  }

  private async horn(args: string[]): Promise<void> {
    let times = 1;
    const rest = [...args];
    while (rest.length && rest[rest.length - 1].startsWith('--')) {
      const option = rest.pop();
      if (option?.startsWith('--times=')) times = Number(option.slice('--times='.length));
    }
    switch (rest[0]) {
      case 'blow':
        await radio.post('/horn', { times });
        break;
      case 'test':
        await radio.get('/horn');
        break;
    }
  }

  private async ships(verb: string, rest: string[]): Promise<void> {
    switch (verb) {
      case 'list':
        screen.write(await radio.get('/ships'));
        break;
      case 'hail': {
        const said = rest.indexOf('--') >= 0 ? rest.slice(rest.indexOf('--') + 1).join(' ') : rest.slice(1).join(' ');
        await radio.post(`/ships/${rest[0]}/hail`, { said });
        break;
      }
      case 'track':
        await radio.get(`/ships/${rest[0]}/track`);
        break;
    }
  }
}

export const beacon = new Beacon('ada');
