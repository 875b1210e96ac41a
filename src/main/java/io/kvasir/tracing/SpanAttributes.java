package io.kvasir.tracing;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.sdk.resources.Resource;
import java.util.List;

/**
 * The names of spans' attributes. Those of {@code gen_ai} are OpenTelemetry's conventions for generative AI, which are
 * in development and in no released library; those of {@code kvasir} are Kvasir's own.
 */
final class SpanAttributes {
  static final AttributeKey<String> METHOD = AttributeKey.stringKey("http.request.method");
  static final AttributeKey<String> ROUTE = AttributeKey.stringKey("http.route");
  static final AttributeKey<Long> STATUS = AttributeKey.longKey("http.response.status_code");
  static final AttributeKey<Long> RESEND_COUNT = AttributeKey.longKey("http.request.resend_count");
  static final AttributeKey<Long> BODY_SIZE = AttributeKey.longKey("http.request.body.size");
  static final AttributeKey<String> PATH = AttributeKey.stringKey("url.path");
  static final AttributeKey<String> CLIENT = AttributeKey.stringKey("client.address");
  static final AttributeKey<String> ERROR = AttributeKey.stringKey("error.type");
  static final AttributeKey<String> SERVER = AttributeKey.stringKey("server.address");
  static final AttributeKey<Long> PORT = AttributeKey.longKey("server.port");

  static final AttributeKey<String> OPERATION = AttributeKey.stringKey("gen_ai.operation.name");
  static final AttributeKey<String> PROVIDER = AttributeKey.stringKey("gen_ai.provider.name");
  static final AttributeKey<String> REQUEST_MODEL = AttributeKey.stringKey("gen_ai.request.model");
  static final AttributeKey<Boolean> REQUEST_STREAM = AttributeKey.booleanKey("gen_ai.request.stream");
  static final AttributeKey<Long> MAX_TOKENS = AttributeKey.longKey("gen_ai.request.max_tokens");
  static final AttributeKey<Long> CHOICES = AttributeKey.longKey("gen_ai.request.choice.count");
  static final AttributeKey<Long> SEED = AttributeKey.longKey("gen_ai.request.seed");
  static final AttributeKey<Double> TEMPERATURE = AttributeKey.doubleKey("gen_ai.request.temperature");
  static final AttributeKey<Double> TOP_P = AttributeKey.doubleKey("gen_ai.request.top_p");
  static final AttributeKey<Double> TOP_K = AttributeKey.doubleKey("gen_ai.request.top_k");
  static final AttributeKey<Double> FREQUENCY_PENALTY = AttributeKey.doubleKey("gen_ai.request.frequency_penalty");
  static final AttributeKey<Double> PRESENCE_PENALTY = AttributeKey.doubleKey("gen_ai.request.presence_penalty");
  static final AttributeKey<String> RESPONSE_ID = AttributeKey.stringKey("gen_ai.response.id");
  static final AttributeKey<List<String>> FINISH_REASONS =
      AttributeKey.stringArrayKey("gen_ai.response.finish_reasons");
  static final AttributeKey<Double> TIME_TO_FIRST_CHUNK =
      AttributeKey.doubleKey("gen_ai.response.time_to_first_chunk");
  static final AttributeKey<Long> INPUT_TOKENS = AttributeKey.longKey("gen_ai.usage.input_tokens");
  static final AttributeKey<Long> OUTPUT_TOKENS = AttributeKey.longKey("gen_ai.usage.output_tokens");
  static final AttributeKey<Long> CACHED_TOKENS = AttributeKey.longKey("gen_ai.usage.cache_read.input_tokens");

  static final AttributeKey<String> REQUEST_ID = AttributeKey.stringKey("kvasir.request.id");
  static final AttributeKey<String> TENANT = AttributeKey.stringKey("kvasir.tenant");
  static final AttributeKey<String> PROMPT_MODE = AttributeKey.stringKey("kvasir.prompt.mode");
  static final AttributeKey<Double> TEMPLATE_MILLIS = AttributeKey.doubleKey("kvasir.prompt.template.ms");
  static final AttributeKey<Double> TOKENS_MILLIS = AttributeKey.doubleKey("kvasir.prompt.tokens.ms");
  static final AttributeKey<Long> PROMPT_TOKENS = AttributeKey.longKey("kvasir.tokens.prompt");
  static final AttributeKey<Long> BEST_TOKENS = AttributeKey.longKey("kvasir.tokens.best");
  static final AttributeKey<Long> PROMISED_TOKENS = AttributeKey.longKey("kvasir.tokens.promised");
  static final AttributeKey<Long> DELIVERED_TOKENS = AttributeKey.longKey("kvasir.tokens.delivered");
  static final AttributeKey<String> OUTCOME = AttributeKey.stringKey("kvasir.outcome");
  static final AttributeKey<String> PROFILE = AttributeKey.stringKey("kvasir.profile");
  static final AttributeKey<String> WORKER = AttributeKey.stringKey("kvasir.worker");
  static final AttributeKey<String> REASON = AttributeKey.stringKey("kvasir.reason");
  static final AttributeKey<String> DECISION_ID = AttributeKey.stringKey("kvasir.decision.id");
  static final AttributeKey<String> WAY = AttributeKey.stringKey("kvasir.way");
  static final AttributeKey<String> CELL = AttributeKey.stringKey("kvasir.cell");
  static final AttributeKey<String> HOME = AttributeKey.stringKey("kvasir.home");
  static final AttributeKey<String> LEG = AttributeKey.stringKey("kvasir.leg");

  private static final AttributeKey<String> INSTANCE = AttributeKey.stringKey("service.instance.id");

  private SpanAttributes() {}

  /** What all spans of a node have in common. */
  static Resource ofNode(String node) {
    return Resource.create(Attributes.of(INSTANCE, node));
  }
}
