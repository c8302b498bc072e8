"""What a score must be held against: answers that no model is needed for."""

import polars as pl


def intended_baseline(table: pl.DataFrame) -> pl.DataFrame:
    """One run that answers each case of a table with what its context's author meant.

    Where no case has an intended side, the table is empty.
    """
    cases = table.filter(pl.col("intended").is_not_null()).unique(
        ["dataset_hash", "case_id"], maintain_order=True
    )
    return cases.with_columns(
        pl.lit("baseline:intended").alias("model"),
        pl.lit("baseline:intended").alias("run_id"),
        pl.lit("probability").alias("protocol"),
        pl.lit("judge").alias("delivery"),
        pl.lit(None, pl.String).alias("ablation"),
        pl.lit(None, pl.String).alias("variant"),
        pl.lit(None, pl.String).alias("prompt_version"),
        pl.lit("ok").alias("status"),
        pl.col("intended").alias("verdict"),
        (pl.col("intended") == "safe").cast(pl.Float64).alias("p_safe"),
        pl.lit(None, pl.Float64).alias("mass"),
        pl.lit(1, pl.Int64).alias("epoch"),
    )
