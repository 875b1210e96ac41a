package io.kvasir.programs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Whose turn it is among programs, against a line that is made anew for each look. */
final class ProgramLineTest {
  private final Random random = new Random(7);
  private final ProgramLine line = new ProgramLine();

  /** By tenant. */
  private final Map<String, Integer> weights = new HashMap<>();

  private final Map<String, Integer> live = new HashMap<>();

  /** The tokens of programs that wait, by name: their tenant's and a digit. */
  private final Map<String, Integer> waits = new HashMap<>();

  @Test
  void turns_areThoseOfALineMadeAnew() {
    int next = 0;
    for (int i = 0; i < 5000; i++) {
      String tenant = String.valueOf((char) ('a' + random.nextInt(5)));
      String name = tenant + random.nextInt(3);
      int step = random.nextInt(4);
      // The line sees a weight with what it is notified of.
      if ((step == 0 || step == 3) && random.nextInt(5) == 0) {
        weights.put(tenant, 1 + random.nextInt(9));
      }
      Program program = program(name);
      switch (step) {
        case 0 -> {
          line.addLive(program, 1, 100);
          live.merge(tenant, 1, Integer::sum);
        }
        case 1 -> {
          if (live.getOrDefault(tenant, 0) > 0) {
            line.addLive(program, -1, -100);
            live.merge(tenant, -1, Integer::sum);
          }
        }
        case 2 -> {
          ProgramWait _ = line.end(program);
          waits.remove(name);
        }
        default -> {
          waits.put(name, 50 + random.nextInt(500));
          ProgramWait wait = offer(line, name);
          boolean its = line.isNext(program, wait, 1000, 0);
          assertThat(its).isEqualTo(isNextAnew(name));
          next += its ? 1 : 0;
        }
      }
    }
    assertThat(next).isBetween(100, 4000);
  }

  private boolean isNextAnew(String name) {
    ProgramLine anew = new ProgramLine();
    live.forEach((tenant, programs) -> anew.addLive(program(tenant + "0"), programs, 100L * programs));
    waits.keySet().stream().sorted().forEach(each -> offer(anew, each));
    return anew.isNext(program(name), offer(anew, name), 1000, 0);
  }

  private ProgramWait offer(ProgramLine into, String name) {
    return into.offer(program(name), 0, waits.getOrDefault(name, 0), 0, () -> {});
  }

  private Program program(String name) {
    String tenant = name.substring(0, 1);
    return new Program(new ProgramTurn(name, tenant, weights.getOrDefault(tenant, 1), 1000, 0, false));
  }
}
