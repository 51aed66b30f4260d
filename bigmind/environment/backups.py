"""When backups are made, where, and how long they stay."""

from pydantic import BaseModel, Field


class BackupSettings(BaseModel):
    """When backups are made, where, and how long they stay."""

    backup_dir: str = Field(
        default="",
        description="Folder that the scheduler makes backups in. Default: only `bigmind backup` makes any.",
    )
    backup_every: int = Field(
        default=24, ge=1, le=8760, description="Hours from one backup in BIGMIND_BACKUP_DIR to the next."
    )
    backup_keep: int = Field(
        default=7, ge=0, le=10_000, description="How many backups stay in BIGMIND_BACKUP_DIR. 0 keeps all."
    )
