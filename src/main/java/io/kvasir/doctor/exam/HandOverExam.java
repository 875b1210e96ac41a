package io.kvasir.doctor.exam;

import io.kvasir.routing.KvTransfer;
import org.jspecify.annotations.Nullable;

/**
 * A prompt that one engine computed, and whose KV blocks another was to receive.
 *
 * @param from the prefill engine
 * @param to the decode engine
 * @param dialect of both
 * @param address where the decode engine was told to find the blocks; null when the prefill engine kept none
 * @param failure why they did not come, null when they came
 */
public record HandOverExam(
    EngineTarget from, EngineTarget to, KvTransfer.Dialect dialect, @Nullable String address,
    @Nullable String failure) {}
