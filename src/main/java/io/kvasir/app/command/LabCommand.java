package io.kvasir.app.command;

import io.kvasir.app.node.StartException;
import io.kvasir.app.terminal.ProgressBar;
import io.kvasir.lab.Lab;
import io.kvasir.lab.LabPlan;
import io.kvasir.lab.LabPlanReader;
import io.kvasir.lab.LabReport;
import io.kvasir.lab.RunReport;
import io.kvasir.lab.Slo;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Visibility;
import picocli.CommandLine.Option;

/** {@code kvasir lab}. */
@Command(
    name = "lab",
    description = {
      "Replays traffic in simulated time through the routing profiles and compares what comes of it.",
      "Which profile serves this traffic best on these engines?"
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    showDefaultValues = true,
    usageHelpWidth = 110,
    footer = {
      "",
      "Generators, with the defaults of their parameters (tokens, ms; rate per second):",
      "  gen:shared-prefix  groups=150 prompts=5 prefix=6000 question=1200 output=250 rate=0 (0: 3 to 60",
      "                     in 16 steps) seconds=30 (of each step) skew=0 (Zipf exponent) block=16",
      "  gen:sessions       sessions=4 turns=8 system=1500 question=200 output=200 think=500 repeat=10 block=16",
      "  gen:agents         sessions=240 rate=0.4 turns=40 kinds=8 system=4000 result=1200 output=250",
      "                     think=2000 block=64",
      "  gen:bursts         seconds=600 rate=12 groups=100 prompt=4000 every=10 size=60 prefix=8000 own=400",
      "                     spread=500 output=200 block=16",
      "  gen:day            hours=24 low=1 high=8 (requests per second) groups=100 prompt=8000 output=200 block=64",
      "",
      "For example:",
      "  kvasir lab --trace traffic.jsonl.gz --profiles all --scale 1,1.5,2 --seeds 3 --out target/lab"
    })
public final class LabCommand implements Callable<Integer> {
  @Option(
      names = "--trace",
      required = true,
      split = ",",
      showDefaultValue = Visibility.NEVER,
      paramLabel = "FILE|gen:NAME",
      description = {
        "Traffic: a trace as it was published, gzipped or not (--format has the formats), or a generator with",
        "parameters of its own, as in 'gen:shared-prefix?groups=20&skew=1.2' (see below)."
      })
  private List<String> traces = List.of();

  @Option(
      names = "--format",
      defaultValue = "auto",
      paramLabel = "NAME",
      description = {
        "Format of the traces that are files: auto recognises it by the first record; mooncake, bailian, weka,",
        "lmcache, aiperf, vllm (benchmark_serving_multi_turn), sharegpt (SGLang's benchmarks), azure, burstgpt."
      })
  private String format = "";

  @Option(
      names = "--engine",
      defaultValue = "h200-Qwen3-32B-tp2",
      paramLabel = "NAME|N*NAME[/F][,...]",
      description = {
        "Engine model of every worker: gpu-model-tp; or several, as in",
        "'5*h100-Llama-3.1-8B-tp1,2*a100-Llama-3.1-8B-tp1,1*h100-Llama-3.1-8B-tp1/2', where /2 is an engine that",
        "takes twice as long as its name says."
      })
  private String engine = "";

  @Option(
      names = "--workers",
      defaultValue = "8",
      description = {
        "How many engines, 1 to 256: 8, or 5P+3D for prefill and decode engines with 400 Gb/s RDMA between them,",
        "which the profile prefill-decode makes use of."
      })
  private String workers = "";

  @Option(
      names = "--elastic",
      defaultValue = "off",
      paramLabel = "off|on|NAME=VALUE[,...]",
      description = {
        "Whether the fleet grows and shrinks, up to --workers, by the advice that a cluster gives to autoscalers:",
        "off, on, or with settings of your own, such as 'startup=180,least=2': how long an engine loads (startup) and",
        "for how long fewer must be enough (settle), seconds; the share of an engine's time that prompts may take",
        "(share); the fewest engines (least), and those at the beginning (start)."
      })
  private String elastic = "";

  @Option(
      names = "--stalls",
      defaultValue = "off",
      paramLabel = "off|RATE:MS",
      description = {
        "Whether engines stall now and then: so many times a minute and engine, for so many milliseconds on average",
        "with a long tail."
      })
  private String stalls = "";

  @Option(
      names = "--host-memory",
      defaultValue = "0",
      paramLabel = "GB",
      description = "Host memory beside each engine's cache, which keeps what was computed; loaded over 400 Gb/s.")
  private double hostGigabytes;

  @Option(
      names = "--pulls",
      description = "Engines pull from each other what costs less than to compute it, over 400 Gb/s RDMA.")
  private boolean pulls;

  @Option(
      names = "--profiles",
      defaultValue = "expected-cost",
      split = ",",
      paramLabel = "NAME|FILE",
      description = {
        "Built-in profiles by name, published rules that only the laboratory has (dual-map, lodestar), all for every",
        "one of them, or a .conf file of your own."
      })
  private List<String> profiles = List.of();

  @Option(
      names = "--scale",
      defaultValue = "1",
      split = ",",
      paramLabel = "S",
      description = "Loads, in multiples of each trace's own.")
  private List<Double> scales = List.of();

  @Option(names = "--seeds", defaultValue = "1", paramLabel = "K", description = "Runs with seeds 1 to K each.")
  private int seeds;

  @Option(
      names = "--loop",
      defaultValue = "trace",
      paramLabel = "trace|open|closed",
      description = {
        "closed: a turn of a recorded conversation waits for the answer before it, and then as long as the trace",
        "shows its author to have thought. open: requests are sent at their times, whatever happens. trace: turns",
        "with a delay wait, turns with a time do not."
      })
  private String loop = "";

  @Option(
      names = "--warm-up",
      defaultValue = "0",
      paramLabel = "SHARE",
      description = "Share of the requests, those that come first, that fill the caches and do not count.")
  private double warmUp;

  @Option(
      names = "--tenants",
      defaultValue = "0",
      paramLabel = "N",
      description = {
        "Divides the programs of traces that name no tenants among N, the k-th of which has a share in proportion",
        "to 1/k; the report then has each one's goodput and how even they are."
      })
  private int tenants;

  @Option(
      names = "--index",
      defaultValue = "exact",
      paramLabel = "MODE",
      description = {
        "How the router learns what is cached: exact, delayed:MS (events late), lossy:SHARE[:SECONDS] (a share",
        "of the events lost until the blocks are resynchronised, every 30 s by default), approximate (no events:",
        "predicted from its own decisions)."
      })
  private String index = "";

  @Option(
      names = "--coefficients",
      defaultValue = "exact",
      paramLabel = "MODE",
      description = {
        "What the router believes prompts cost: exact (what the engines are made of), learnt (it learns from",
        "first tokens), off:FACTOR (wrong by a factor), learnt:FACTOR (wrong to begin with, then learnt), unnamed",
        "(it knows no engine's name and takes all for alike to begin with, then learns)."
      })
  private String coefficients = "";

  @Option(
      names = "--guard",
      defaultValue = "off",
      paramLabel = "off|on|NAME=VALUE[,...]",
      description = {
        "The thrash guard: off, on, or with settings of your own, such as 'admit-below=0.8,longest-wait=300':",
        "shares of the engines' memory, seconds."
      })
  private String guard = "";

  @Option(
      names = "--slo-ttft",
      defaultValue = "2000",
      paramLabel = "MS",
      description = "Goodput counts requests with their first token within so many milliseconds")
  private double sloTtft;

  @Option(
      names = "--slo-tpot",
      defaultValue = "50",
      paramLabel = "MS",
      description = "and so many milliseconds per further token at most.")
  private double sloTpot;

  @Option(
      names = "--out",
      required = true,
      showDefaultValue = Visibility.NEVER,
      paramLabel = "DIR",
      description = "Where report.json (a line per run), report.txt (tables) and report.html (plots) go.")
  private Path out = Path.of("");

  @Override
  public Integer call() throws StartException, InterruptedException {
    LabPlanReader reader = new LabPlanReader();
    LabPlan plan =
        reader.read(
            new LabPlanReader.LabOptions(
                new LabPlanReader.LoadOptions(traces, format, scales, seeds, loop, tenants, warmUp),
                new LabPlanReader.EngineOptions(engine, workers, elastic, stalls, hostGigabytes, pulls),
                new LabPlanReader.RouterOptions(profiles, index, coefficients, guard),
                new Slo(sloTtft, sloTpot)));
    if (plan == null) {
      throw new StartException("the laboratory cannot start:\n  --" + String.join("\n  --", reader.faults()));
    }
    try {
      LabReport.requireWritable(out);
    } catch (IOException unwritable) {
      throw unwritable(unwritable);
    }
    List<RunReport> runs;
    try (ProgressBar progress = new ProgressBar()) {
      runs = Lab.run(plan, progress::draw);
      progress.end();
    }
    LabReport report = new LabReport(runs);
    System.out.print(report.table());
    try {
      report.write(out);
    } catch (IOException unwritable) {
      throw unwritable(unwritable);
    }
    System.out.printf("%nwritten to %s, with all that was measured%n", out);
    return 0;
  }

  private StartException unwritable(IOException why) {
    return new StartException("the report cannot be written to " + out + ": " + why.getMessage(), why);
  }
}
