package io.kvasir.app.node;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.app.config.AdminJsonConfig;
import io.kvasir.app.config.KvasirConfig.FleetConfig;
import io.kvasir.cell.PodSpec;
import io.kvasir.discovery.LearntPod;
import io.kvasir.discovery.PodLearner;
import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.TransferDescription.Role;
import io.kvasir.engines.EngineIdentity;
import io.kvasir.engines.EngineSurvey;
import io.kvasir.engines.EngineTokens;
import io.kvasir.engines.SurveyedEngine;
import io.kvasir.gateway.admin.PodCompletion;
import io.kvasir.http.HttpCalls;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** What engines are by their own word, asked with the keys and certificates that this node has for them. */
final class PodSurvey implements PodLearner, PodCompletion, AutoCloseable {
  private final HttpCalls calls;
  private final EngineSurvey survey;
  private final FleetConfig fleet;
  private final Supplier<List<PodSpec>> pods;

  /**
   * A survey.
   *
   * @param timeout of each question
   * @param tls for https pods, null for what the JVM trusts
   * @param fleet what the configuration says of all pods
   * @param pods those that are known: where several are on a host, what is at its default ports is nobody's
   */
  PodSurvey(
      Duration timeout, @Nullable SSLContext tls, FleetConfig fleet, Supplier<List<PodSpec>> pods) {
    this.calls = new HttpCalls(timeout, tls);
    this.survey = new EngineSurvey(calls, timeout);
    this.fleet = fleet;
    this.pods = pods;
  }

  @Override
  public LearntPod learn(EngineAddress engine, @Nullable EngineIdentity known)
      throws IOException, InterruptedException {
    return LearntPod.of(survey(engine, known));
  }

  @Override
  public Completed complete(ObjectNode given, URI url, @Nullable Integer grpcPort)
      throws IOException, InterruptedException {
    SurveyedEngine surveyed = survey(
        new EngineAddress(url, grpcPort, Role.of(given.path(EngineAddress.ROLE).asText())), null);
    LearntPod pod = LearntPod.of(surveyed);
    ObjectNode described = given.deepCopy();
    if (!described.has("name")) {
      described.put("name", pod.name());
    }
    ObjectNode completed = described.deepCopy();
    for (Map.Entry<String, JsonNode> setting : pod.settings().properties()) {
      String name = setting.getKey().replace('-', '_');
      if (!completed.has(name)) {
        completed.set(name, setting.getValue());
      }
    }
    String load = survey.load(surveyed.description(), fleet.podKeys().of(url)).words();
    return new Completed(completed, pod.learnt(AdminJsonConfig.pod(described)), load);
  }

  /** What an engine answers to {@code /tokenize}; see {@link EngineSurvey#tokens}. */
  EngineTokens tokens(SurveyedEngine engine) throws IOException, InterruptedException {
    return survey.tokens(engine.description(), fleet.podKeys().of(engine.description().url()));
  }

  /** What is found of an engine; see {@link #learn}. */
  SurveyedEngine survey(EngineAddress engine, @Nullable EngineIdentity known)
      throws IOException, InterruptedException {
    URI url = engine.url();
    boolean alone = EngineSurvey.isAlone(url, pods.get().stream().map(PodSpec::url));
    return survey.survey(fleet.surveyAddress(engine), fleet.podKeys().of(url), alone, known);
  }

  @Override
  public void close() {
    calls.close();
  }
}
