package io.kvasir.doctor;

import io.kvasir.doctor.check.Check;
import io.kvasir.doctor.check.Checks;
import io.kvasir.doctor.check.Finding;
import io.kvasir.doctor.exam.CertificateExam;
import io.kvasir.doctor.exam.EngineExam;
import io.kvasir.doctor.exam.EngineExaminer;
import io.kvasir.doctor.exam.EngineTarget;
import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.Examination.LoadedModel;
import io.kvasir.doctor.exam.HandOverExam;
import io.kvasir.doctor.exam.HandOverExaminer;
import io.kvasir.doctor.exam.HandOverExaminer.EnginePair;
import io.kvasir.doctor.exam.ModelPrompts;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.http.HttpCalls;
import io.kvasir.prompt.ModelConfig;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.function.DoubleConsumer;
import org.jspecify.annotations.Nullable;

/** Examines a fleet, and finds what is wrong with it. Thread-safe. */
public final class Doctor {
  /** A listener of an engine's events has threads of its own. */
  private static final int ENGINES_AT_A_TIME = 64;

  private final HttpCalls calls;
  private final EngineExaminer.Timeouts timeouts;
  private final InstantSource clock;

  /** A doctor; {@code calls} are the caller's. */
  public Doctor(HttpCalls calls, EngineExaminer.Timeouts timeouts, InstantSource clock) {
    this.calls = calls;
    this.timeouts = timeouts;
    this.clock = clock;
  }

  /**
   * What is to be examined.
   *
   * @param engines the fleet
   * @param models of the router's configuration, null when that is not known
   * @param certificates those that the configuration names
   * @param router what a running router said, null when none was asked
   */
  public record Subjects(
      List<EngineTarget> engines,
      @Nullable List<ModelConfig> models,
      List<CertificateExam> certificates,
      @Nullable RouterExam router) {
    /** Copies the lists. */
    public Subjects {
      engines = List.copyOf(engines);
      models = models == null ? null : List.copyOf(models);
      certificates = List.copyOf(certificates);
    }
  }

  /**
   * Examines all engines at the same time, each for as long as its timeouts allow, and then hand-overs between them.
   *
   * @param progress is told the share of the engines that is done, by one thread
   */
  public Diagnosis examine(Subjects subjects, DoubleConsumer progress) throws InterruptedException {
    List<ModelPrompts> prompts =
        subjects.models() == null ? List.of() : subjects.models().stream().map(ModelPrompts::new).toList();
    List<LoadedModel> loaded =
        subjects.models() == null
            ? null
            : prompts.stream().map(model -> new LoadedModel(model.config(), model.failure())).toList();
    List<EngineExam> engines = engines(subjects.engines(), byName(prompts), progress);
    List<HandOverExam> handOvers = handOvers(HandOverExaminer.pairs(engines));
    Examination examination =
        new Examination(clock.instant(), engines, handOvers, loaded, subjects.certificates(), subjects.router());
    List<Finding> findings = new ArrayList<>();
    for (Check check : Checks.ALL) {
      findings.addAll(check.findings(examination));
    }
    findings.sort(Comparator.comparing(Finding::severity));
    RouterExam router = subjects.router();
    return new Diagnosis(engines.size(), findings, router == null ? List.of() : router.links());
  }

  private static Map<String, ModelPrompts> byName(List<ModelPrompts> prompts) {
    Map<String, ModelPrompts> byName = new HashMap<>();
    for (ModelPrompts model : prompts) {
      byName.put(model.config().name(), model);
      model.config().adapters().forEach(adapter -> byName.put(adapter, model));
    }
    return byName;
  }

  private List<EngineExam> engines(
      List<EngineTarget> targets, Map<String, ModelPrompts> prompts, DoubleConsumer progress)
      throws InterruptedException {
    EngineExaminer examiner = new EngineExaminer(calls, timeouts, prompts, clock.millis());
    Semaphore permits = new Semaphore(ENGINES_AT_A_TIME);
    EngineExam[] exams = new EngineExam[targets.size()];
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      CompletionService<Integer> running = new ExecutorCompletionService<>(threads);
      for (int i = 0; i < exams.length; i++) {
        int index = i;
        var _ = running.submit(() -> {
          permits.acquire();
          try {
            exams[index] = examiner.examine(targets.get(index));
          } finally {
            permits.release();
          }
          return index;
        });
      }
      for (int done = 1; done <= exams.length; done++) {
        int _ = running.take().get();
        progress.accept((double) done / exams.length);
      }
    } catch (ExecutionException failed) {
      throw new IllegalStateException("an engine could not be examined", failed.getCause());
    }
    return List.of(exams);
  }

  private List<HandOverExam> handOvers(List<EnginePair> pairs) throws InterruptedException {
    HandOverExaminer examiner = new HandOverExaminer(calls, timeouts.request(), clock.millis());
    List<Callable<HandOverExam>> trials =
        pairs.stream().<Callable<HandOverExam>>map(pair -> () -> examiner.examine(pair)).toList();
    List<HandOverExam> exams = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(ENGINES_AT_A_TIME, Thread.ofVirtual().factory())) {
      for (Future<HandOverExam> exam : threads.invokeAll(trials)) {
        exams.add(exam.get());
      }
    } catch (ExecutionException failed) {
      throw new IllegalStateException("engines could not be examined", failed.getCause());
    }
    return exams;
  }
}
