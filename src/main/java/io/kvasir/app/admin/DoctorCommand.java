package io.kvasir.app.admin;

import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.StartException;
import io.kvasir.app.terminal.ProgressBar;
import io.kvasir.doctor.Diagnosis;
import io.kvasir.doctor.Doctor;
import io.kvasir.doctor.Doctor.Subjects;
import io.kvasir.doctor.exam.EngineExaminer;
import io.kvasir.doctor.exam.EngineTarget;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.ZoneId;
import java.util.List;
import java.util.concurrent.Callable;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code kvasir doctor}. */
@Command(
    name = "doctor",
    description = {
      "Examines engines and nodes: prints what is wrong, why it matters, and the flag or line that mends it.",
      "Each engine gets two short requests, four where no events come. With --config the engines of a",
      "configuration, as it describes them, prefill and decode engines also together; else those of the running",
      "router at --management, and all of its nodes, which any of them answers for; with both, all."
    },
    exitCodeListHeading = "Exit status:%n",
    exitCodeList = {"0:nothing is wrong", "1:the worst is a warning", "2:there is an error, or no examination"},
    exitCodeOnExecutionException = 2,
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class DoctorCommand implements Callable<Integer> {
  @Option(names = "--config", paramLabel = "FILE", description = "The configuration whose engines are examined.")
  private @Nullable Path file;

  @Mixin private AdminOptions options = new AdminOptions();

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() throws ConfigException, AdminFailedException, StartException, InterruptedException {
    // What is worth saying is said by findings; scripts read the output.
    System.setProperty("kvasir.log.level", "WARN");
    Path configuration = file;
    KvasirConfig config = configuration == null ? null : KvasirConfig.load(configuration);
    boolean asksRouter =
        config == null || spec.commandLine().getParseResult().hasMatchedOption("--management");
    Diagnosis diagnosis;
    try (HttpCalls calls = new HttpCalls(null, config == null ? null : tls(config.execution().tls()));
        ProgressBar bar = new ProgressBar("examining")) {
      Subjects subjects = subjects(config, asksRouter, calls);
      Doctor doctor =
          new Doctor(calls, EngineExaminer.Timeouts.DEFAULT, Clock.system(ZoneId.systemDefault()));
      diagnosis = doctor.examine(subjects, bar::draw);
    }
    System.out.print(
        options.json() ? DiagnosisText.json(diagnosis).toPrettyString() + "\n" : DiagnosisText.of(diagnosis));
    return diagnosis.exitStatus();
  }

  private Subjects subjects(@Nullable KvasirConfig config, boolean asksRouter, HttpCalls calls)
      throws AdminFailedException, InterruptedException {
    if (!asksRouter) {
      if (config == null) {
        return new Subjects(List.of(), null, List.of(), null);
      }
      List<EngineTarget> engines = ExaminedConfig.engines(config, calls);
      return new Subjects(
          engines, ExaminedConfig.models(config, engines), ExaminedConfig.certificates(config), null);
    }
    try (AdminClient client = options.client()) {
      ExaminedRouter router = new ExaminedRouter(client);
      RouterExam said = router.examine();
      List<EngineTarget> engines = config == null ? router.engines() : ExaminedConfig.engines(config, calls);
      return new Subjects(
          engines,
          config == null ? null : ExaminedConfig.models(config, engines),
          config == null ? List.of() : ExaminedConfig.certificates(config),
          said);
    }
  }

  private static @Nullable SSLContext tls(@Nullable TlsFiles files) throws StartException {
    try {
      return files == null ? null : new ReloadingTls(files, NanoClock.SYSTEM).context();
    } catch (IOException unusable) {
      throw new StartException("kvasir.execution.tls cannot be used: " + unusable.getMessage(), unusable);
    }
  }
}
